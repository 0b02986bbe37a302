# SPDX-License-Identifier: Apache-2.0
"""The program's side of supervision by watchdogd: reports when it can be used, and proves that its main loop runs.

::

    import asyncio, watchdogd

    async def main():
        stop = asyncio.Event()
        watchdogd.attach(on_terminate=stop.set)
        await load_what_is_needed()
        watchdogd.ready()
        await stop.wait()

    asyncio.run(main())

attach() answers on an asyncio event loop, link() leaves that to the caller's own loop. The environment decides who
listens. Nothing here fails or needs checking:

- Under watchdogd (`WATCHDOG_CHANNEL`), the program says hello and answers each ping from its main loop. The library
  removes the channel from the environment, and programs that this one starts do not inherit it; a child made by
  os.fork() is silent.
- Under systemd or any other supervisor that speaks sd_notify (`NOTIFY_SOCKET`), readiness and status go there, and
  the loop sends `WATCHDOG=1` at half of `WATCHDOG_USEC` if that is meant for this process (`WATCHDOG_PID`).
- Otherwise the library is silent.

Nothing blocks the caller. If the supervisor does not read fast enough, the library keeps the latest message of each
kind and sends it later. If the supervisor exits, the library falls silent. Call every function but attach() and link()
from any thread or signal handler, even before attach(): the library keeps such messages until then.
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
    handlers are functions or coroutine functions, and run on the loop, one after the other; a state or event counts as
    done when its handler has returned. Requests that arrive before ready() wait for it, except the request to exit.

    loop: the running one by default.
    lifecycle: the program enters the background and the foreground on request, and handles events.
    on_terminate: called once when the program is asked to exit, by SIGTERM or over the channel. With it, the library
        takes over SIGTERM; without it, SIGTERM keeps its effect and a request over the channel does nothing. watchdogd
        kills a program that does not exit within an allowance.
    on_expire: called when the time for background tasks is nearly over, after the handlers of the tasks.
    tell_stack: if the loop hangs, a thread reports in the status which Python functions it is in, so that a crash log
        has them; the README describes its limits.

    Raises AttachError if attach() or link() was called before, unless that was for a loop that is closed.
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
    """Connects to the supervisor and lets the caller answer, for programs with a loop of their own; see Link.

    Call it on the thread of the loop, before the program starts other threads, because it changes the environment.
    SIGTERM accompanies the request to exit, and ends a program that does not handle it.

    Raises AttachError if attach() or link() was called before.
    """
    _app.attach(Handlers(None, on_background, on_foreground, on_expire, on_event), lifecycle)
    if tell_stack:
        _StackTeller(_app)
    return Link(_app)


def is_supervised() -> bool:
    """True if attach() or link() found a supervisor that still exists."""
    return _app.session.is_supervised


def launch() -> Launch:
    """Why the program was launched, and into which state; known after attach() or link()."""
    return _app.launch


# MARK: - The launch


def ready() -> None:
    """Reports that the program can be used, which completes its launch."""
    _app.set_ready()


def first_frame() -> None:
    """Reports that there is something to see. Only the first call counts; it changes no allowance."""
    if _app.has_shown_frame:
        return
    _app.has_shown_frame = True

    def change(message: _wire.ClientMessage) -> None:
        message.is_first_frame = True

    _app.say(change)


def useful() -> None:
    """Reports that the program does what it was launched for. Only the first call counts; it changes no allowance."""
    if _app.is_useful:
        return
    _app.is_useful = True

    def change(message: _wire.ClientMessage) -> None:
        message.is_useful = True

    _app.say(change)


@contextmanager
def launch_task(name: str) -> Iterator[bool]:
    """Extends the measured launch until the block has ended, such as loading what the first screen shows.

    It changes the measurement, not the allowance. Begin the first task before ready(), and any other while one is
    still open. Use each name once; there are at most 16. Yields whether the task counts; the block runs either way.
    """
    counts = _app.launch_tasks.begin(name)
    try:
        yield counts
    finally:
        if counts:
            _app.launch_tasks.end(name)


# MARK: - While it runs


def status(text: str) -> None:
    """Reports in one line what the program is doing, for people; at most 1024 bytes. An empty text clears the line."""
    _app.set_status(text)


def summary(text: str) -> None:
    """Sets a line that a report about this program will contain; at most 128 bytes."""
    line = str(text)

    def change(message: _wire.ClientMessage) -> None:
        message.summary = line

    _app.say(change)


def signpost(category: str, name: str, message: str = "") -> None:
    """Marks a moment, which reports and recordings show beside what the program was doing.

    It only measures. Category and name have at most 64 bytes, the message 256. At most 256 marks wait to be sent; the
    library drops and counts more. Set fewer than 50 a second.
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
    """Requests more time, from now, for work that takes longer than the allowance.

    Call it repeatedly while the work continues. watchdogd grants time only while the progress changes, up to a limit.
    A thread that the main loop waits for may call this.

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
    """Keeps the program from being suspended until a piece of work has ended, if it enters the background meanwhile.

    ::

        with watchdogd.background_task("saving library") as task:
            for album in albums:
                if task.is_expired:
                    break
                save(album)

    This starts no work. watchdogd kills a program that has an open task when the time is over.

    name: what the work is, as a report names it; at most 128 bytes.
    on_expire: called on the main loop when the time is nearly over; it must end the task at once.
    """
    task: BackgroundTask = _app.begin_background_task(name, on_expire)
    return task


def background_time_remaining() -> timedelta | None:
    """The estimated time left for background tasks; None without a limit."""
    return _app.background_tasks.time_remaining


def stopping() -> None:
    """Reports that the program has begun to exit; no further background task begins."""
    _app.background_tasks.is_closed = True

    def change(message: _wire.ClientMessage) -> None:
        message.is_stopping = True

    _app.say(change)
