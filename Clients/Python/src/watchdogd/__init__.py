# SPDX-License-Identifier: Apache-2.0
"""The program's side of supervision by watchdogd: says when it can be used, and proves that its main loop turns.

::

    import asyncio, watchdogd

    async def main():
        stop = asyncio.Event()
        watchdogd.attach(on_terminate=stop.set)
        await load_what_is_needed()
        watchdogd.ready()
        await stop.wait()

    asyncio.run(main())

attach() answers on an asyncio event loop, link() leaves it to the caller's own loop. Who listens is decided by the
environment, and nothing needs checking:

- Under watchdogd (`WATCHDOG_CHANNEL`), the program says hello and answers each ping from its main loop. The channel
  is taken out of the environment and is not passed to programs that this one starts; a child made by os.fork() is
  silent.
- Under systemd or any other supervisor that speaks sd_notify (`NOTIFY_SOCKET`), readiness and status go there, and
  the loop sends `WATCHDOG=1` at half of `WATCHDOG_USEC` if that is meant for this process (`WATCHDOG_PID`).
- Otherwise the library is silent.

Nothing blocks the caller. If the supervisor does not read fast enough, what could not be sent is kept and tried
again: of each kind of statement only the latest. If it goes away, the library falls silent. Every function but
attach() and link() may be called from any thread and from a signal handler, also before attach(): what is said before
is kept until then.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Callable, Iterator

from . import _wire
from ._app import (
    AttachError,
    Background,
    Disconnected,
    Event,
    Expire,
    Foreground,
    Handlers,
    Incident,
    Terminate,
    app as _app,
)
from ._attachment import Attachment
from ._environment import Launch
from ._link import Link
from ._stack import StackTeller as _StackTeller
from ._tasks import BackgroundTask

__all__ = [
    "AttachError",
    "Attachment",
    "Background",
    "BackgroundTask",
    "Disconnected",
    "Event",
    "Expire",
    "Foreground",
    "Incident",
    "Launch",
    "Link",
    "Terminate",
    "attach",
    "background_task",
    "background_time_remaining",
    "extend",
    "first_frame",
    "interval",
    "is_supervised",
    "launch",
    "launch_task",
    "link",
    "ready",
    "signpost",
    "status",
    "stopping",
    "summary",
    "useful",
]

_attachment: Attachment | None = None


# MARK: - The main loop


def attach(
    loop: asyncio.AbstractEventLoop | None = None,
    *,
    lifecycle: bool = False,
    on_terminate: Callable[[], Any] | None = None,
    on_background: Callable[[], Any] | None = None,
    on_foreground: Callable[[], Any] | None = None,
    on_expire: Callable[[], Any] | None = None,
    on_event: Callable[[Event], Any] | None = None,
    tell_stack: bool = False,
) -> Attachment:
    """Connects to the supervisor and answers on an asyncio event loop from now on.

    Call it on the loop's thread, before the program starts other threads, because it changes the environment. The
    handlers are functions or coroutine functions, and are called on the loop, one after the other; a state or an
    event counts as done when its handler has returned. What comes before ready() waits for that, except the request
    to end.

    loop: the running one by default.
    lifecycle: the program goes to the background and the foreground when it is told to, and handles events.
    on_terminate: called once when the program is asked to end, by SIGTERM or over the channel. With it, SIGTERM is
        taken over; without it, SIGTERM does what it does and the request over the channel does nothing. The program
        is killed if it has not ended within an allowance.
    on_expire: called when the time for background tasks is nearly over, after the handlers of the tasks.
    tell_stack: when the loop does not come back, a thread says in the status which Python functions it is in, so
        that a report has them; see the README for what it cannot see.

    Raises AttachError when attach() or link() was called before, unless that was for a loop that is closed.
    """
    global _attachment
    if loop is None:
        loop = asyncio.get_running_loop()
    handlers = Handlers(on_terminate, on_background, on_foreground, on_expire, on_event)
    if _app.is_attached and _attachment is not None and _attachment.is_closed:
        _app.handlers = handlers
    else:
        _app.attach(handlers, lifecycle)
        if tell_stack:
            _StackTeller(_app)
    _attachment = Attachment(_app, loop)
    return _attachment


def link(
    *,
    lifecycle: bool = False,
    on_background: Callable[[], Any] | None = None,
    on_foreground: Callable[[], Any] | None = None,
    on_expire: Callable[[], Any] | None = None,
    on_event: Callable[[Event], Any] | None = None,
    tell_stack: bool = False,
) -> Link:
    """Connects to the supervisor and leaves it to the caller to answer, for programs with a loop of their own; see
    Link.

    Call it on the thread of the loop, before the program starts other threads, because it changes the environment.
    SIGTERM comes beside the request to end, and ends the program first unless that handles it.

    Raises AttachError when attach() or link() was called before.
    """
    _app.attach(Handlers(None, on_background, on_foreground, on_expire, on_event), lifecycle)
    if tell_stack:
        _StackTeller(_app)
    return Link(_app)


def is_supervised() -> bool:
    """True when attach() or link() has found a supervisor that has not gone away since."""
    return _app.session.is_supervised


def launch() -> Launch:
    """To what the supervisor wants the launch to lead; known after attach() or link()."""
    return _app.launch


# MARK: - The launch


def ready() -> None:
    """Says that the program can be used; its launch is over."""
    _app.set_ready()


def first_frame() -> None:
    """Says that there is something to see. Only the first call counts; it measures and changes no allowance."""
    if _app.has_shown_frame:
        return
    _app.has_shown_frame = True

    def change(message: _wire.ClientMessage) -> None:
        message.is_first_frame = True

    _app.say(change)


def useful() -> None:
    """Says that the program does what it was launched for. Only the first call counts; it changes no allowance."""
    if _app.is_useful:
        return
    _app.is_useful = True

    def change(message: _wire.ClientMessage) -> None:
        message.is_useful = True

    _app.say(change)


@contextmanager
def launch_task(name: str) -> Iterator[bool]:
    """Lets what is measured as the launch go on until the block has ended, such as loading what the first screen shows.

    It changes the measurement, not the allowance. The first one begins before ready(), the others while another
    goes on; each name is used once, and there are at most 16. Yields whether the task counts; one that cannot is
    left out.
    """
    counts = _app.launch_tasks.begin(name)
    try:
        yield counts
    finally:
        if counts:
            _app.launch_tasks.end(name)


# MARK: - While it runs


def status(text: str) -> None:
    """Says in one line what the program is doing, for people; 1024 bytes count. An empty one takes it back."""
    _app.set_status(text)


def summary(text: str) -> None:
    """Leaves a line that will stand in a report about this program, should there be one; 128 bytes count."""
    line = str(text)

    def change(message: _wire.ClientMessage) -> None:
        message.summary = line

    _app.say(change)


def signpost(category: str, name: str, message: str = "") -> None:
    """Marks a moment, which reports and recordings show beside what the program was doing.

    It measures and changes nothing. Category and name have at most 64 bytes, the message 256. Of more than 256 marks
    that wait to be sent, only the number is told; set fewer than 50 a second.
    """
    _app.mark("event", None, category, name, message)


@contextmanager
def interval(category: str, name: str) -> Iterator[None]:
    """Marks how long the block takes, like signpost()::

    with watchdogd.interval("photos", "load rows"):
        rows = load_rows()
    """
    number = _app.mark("begin", None, category, name)
    try:
        yield
    finally:
        _app.mark("end", number, category, name)


def extend(by: timedelta, progress: str) -> None:
    """Asks for time, counted from now, for work that takes longer than the program is allowed.

    Call it again and again as the work goes on. watchdogd grants time only while the progress changes, and not
    without end. It may be called from the thread that works while the main loop waits for it.

    progress: anything that differs from the last time only if the work has advanced, such as "412 of 1000 rows".
    """
    microseconds = -((-by) // timedelta(microseconds=1))
    token = str(progress)
    bounded = max(1, min(microseconds, _wire.LARGEST_MICROSECONDS))

    def change(message: _wire.ClientMessage) -> None:
        message.extension_microseconds = bounded
        message.progress = token

    _app.say(change)


def background_task(name: str, on_expire: Callable[[], Any] | None = None) -> BackgroundTask:
    """Asks not to be suspended before a piece of work has ended, should the program go to the background meanwhile.

    ::

        with watchdogd.background_task("saving library") as task:
            for album in albums:
                if task.is_expired:
                    break
                save(album)

    It starts nothing. A program that has an open task when the time is over is killed.

    name: what the work is, as a report names it; 128 bytes count.
    on_expire: called on the main loop when the time is nearly over; it should make the task end at once.
    """
    task: BackgroundTask = _app.begin_background_task(name, on_expire)
    return task


def background_time_remaining() -> timedelta | None:
    """How long background tasks may go on, as an estimate; None when nothing limits it."""
    return _app.background_tasks.time_remaining


def stopping() -> None:
    """Says that the program has begun to end; no background task begins any more."""
    _app.background_tasks.is_closed = True

    def change(message: _wire.ClientMessage) -> None:
        message.is_stopping = True

    _app.say(change)
