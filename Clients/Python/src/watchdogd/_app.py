# SPDX-License-Identifier: Apache-2.0
"""The supervisor's messages to the app, and how the app handles them on whatever loop it runs."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Union

from . import _environment, _wire
from ._session import Session
from ._tasks import BackgroundTasks, LaunchTasks


#: The most messages that wait for the end of the launch or of what is being done; the supervisor never sends as many.
WAITING_LIMIT = 1024


class AttachError(RuntimeError):
    """The program has chosen its main loop already."""


@dataclass(frozen=True)
class Terminate:
    """The app is to end, and is killed if it has not ended within an allowance."""


@dataclass(frozen=True)
class Disconnected:
    """The supervisor is gone; nothing more will come."""


@dataclass(frozen=True)
class Foreground:
    """The app has come to the foreground."""


@dataclass(frozen=True)
class Background:
    """The app has gone to the background."""


@dataclass(frozen=True)
class Expire:
    """The time for background tasks is nearly over: end them now."""


@dataclass(frozen=True)
class Event:
    """Something for the main loop to handle."""

    #: What has happened, such as `url`.
    kind: str
    #: More about it in one line, whose meaning is between the sender and the app.
    payload: str = ""
    #: The app that asked for it, as the supervisor determined; None if somebody else did.
    sender: str | None = None


Incident = Union[Terminate, Disconnected, Foreground, Background, Expire, Event]
Handler = Callable[[], Any]


@dataclass(frozen=True)
class Handlers:
    """What the app does when a message arrives."""

    terminate: Handler | None = None
    background: Handler | None = None
    foreground: Handler | None = None
    expire: Handler | None = None
    event: Callable[[Event], Any] | None = None


@dataclass
class Step:
    """Something to do on the main loop, and what to say when it is done."""

    incident: Incident | None
    handlers: list[Handler] = field(default_factory=list)
    done: _wire.Change | None = None


class App:
    """The state of one process in the eyes of its supervisor.

    What is said may be said on any thread; the rest belongs to the main loop.
    """

    def __init__(self) -> None:
        self.session = Session()
        self._reset()
        _apps.add(self)

    def _reset(self) -> None:
        self.is_attached = False
        self.launch = _environment.Launch()
        self.allowance_seconds: float | None = None
        self.handlers = Handlers()
        self.background_tasks = BackgroundTasks(self.say)
        self.launch_tasks = LaunchTasks(self.say)
        self.is_ready = self.has_shown_frame = self.is_useful = False
        self.status = ""
        self._has_lifecycle = False
        self._allows_faults = False
        self.loop_thread: int | None = None
        self._signposts = itertools.count(1)
        self._waiting: deque[Any] = deque()
        self._last_transition = self._last_event = 0

    def attach(self, handlers: Handlers, has_lifecycle: bool) -> None:
        if self.is_attached:
            raise AttachError("watchdogd: attach() or link() was called before")
        self.is_attached = True
        configuration = _environment.take_from_environment()
        self.launch = configuration.launch
        self.allowance_seconds = configuration.allowance_seconds
        self.handlers = handlers
        self._has_lifecycle = has_lifecycle
        self._allows_faults = configuration.allows_faults
        self.loop_thread = threading.get_ident()
        self.background_tasks.set_foreground(not self.launch.is_in_background)
        self.session.open(configuration, has_lifecycle)

    def abandon(self) -> None:
        """Begins anew in a child that was forked; the supervisor is its parent's."""
        was_attached = self.is_attached
        self.session.abandon()
        if was_attached:
            self._reset()

    # MARK: - Saying

    def say(self, change: _wire.Change) -> None:
        self.session.send(change)

    def set_ready(self) -> None:
        self.is_ready = self.launch_tasks.is_launched = True

        def change(message: _wire.ClientMessage) -> None:
            message.is_ready = True

        self.say(change)
        if self._waiting:
            self.session.on_deadline()

    def set_status(self, text: str) -> None:
        self.status = text = str(text)

        def change(message: _wire.ClientMessage) -> None:
            message.status = text

        self.say(change)

    def mark(self, phase: str, number: int | None, category: str, name: str, text: str = "") -> int:
        """Sets a signpost, and returns its number."""
        chosen = next(self._signposts) if number is None else number
        is_main = threading.get_ident() == (self.loop_thread or threading.main_thread().ident)
        now = time.monotonic_ns()
        value = _wire.signpost(phase, chosen, now, is_main, (str(category), str(name), str(text)))
        self.say(lambda message: message.mark(value))
        return chosen

    def begin_background_task(self, name: str, on_expire: Handler | None) -> Any:
        task = self.background_tasks.begin(name, on_expire)
        if on_expire is not None and self.background_tasks.is_expired:
            # There is no time left to give: it has to end at once.
            self._waiting.append(task)
            self.session.on_deadline()
        return task

    # MARK: - Being told

    @property
    def timeout_seconds(self) -> float | None:
        """How long the loop may wait for the descriptor; None for as long as it likes."""
        return 0.0 if self._waiting and self.is_ready else self.session.timeout_seconds

    def receive(self) -> list[Incident]:
        """Serves the session, and returns what does not wait for its turn: the end of the app or of the supervisor."""
        at_once: list[Incident] = []
        for message in self.session.service():
            if message is None:
                self.background_tasks.forget_time()
                at_once.append(Disconnected())
                continue
            if self._has_lifecycle and message.is_for_lifecycle and len(self._waiting) < WAITING_LIMIT:
                self._waiting.append(message)
            if message.hang_microseconds is not None and self._allows_faults:
                hang_on_demand(message.hang_microseconds / 1_000_000)
            if message.is_terminating:
                at_once.append(Terminate())
        return at_once

    def next_step(self) -> Step | None:
        """What is to be done next; None when there is nothing, and until the launch is over."""
        while self.is_ready and self._waiting:
            waiting = self._waiting.popleft()
            if isinstance(waiting, Step):
                return waiting
            if not isinstance(waiting, _wire.SupervisorMessage):
                handler = waiting.take_handler()
                if handler is not None:
                    return Step(None, [handler])
                continue
            steps = self._steps(waiting)
            # They come before what arrived later.
            self._waiting.extendleft(reversed(steps))
        return None

    def finish(self, step: Step) -> None:
        """Says that a step is done."""
        if step.done is not None:
            self.say(step.done)

    def _steps(self, message: _wire.SupervisorMessage) -> list[Step]:
        steps: list[Step] = []
        # What is to happen first comes first: how long the background lasts is known when it begins.
        if message.background_microseconds is not None:
            self.background_tasks.set_time(message.background_microseconds)
        if message.transition is not None:
            steps.append(self._transition(*message.transition))
        if message.is_expiring:
            steps.append(self._expiration())
        if message.event is not None:
            steps.append(self._event(*message.event))
        return steps

    def _transition(self, state: str, number: int) -> Step:
        step = Step(None)
        if number > self._last_transition:
            self._last_transition = number
            is_foreground = state == "foreground"
            if is_foreground != self.background_tasks.is_foreground:
                self.background_tasks.set_foreground(is_foreground)
                step.incident = Foreground() if is_foreground else Background()
                handler = self.handlers.foreground if is_foreground else self.handlers.background
                step.handlers = [] if handler is None else [handler]
        latest = self._last_transition

        def done(message: _wire.ClientMessage) -> None:
            message.state_done = latest

        step.done = done
        return step

    def _expiration(self) -> Step:
        if self.background_tasks.is_foreground:
            return Step(None)
        handlers = self.background_tasks.expire()
        if self.handlers.expire is not None:
            handlers.append(self.handlers.expire)
        return Step(Expire(), handlers)

    def _event(self, kind: str, number: int, payload: str, sender: str | None) -> Step:
        step = Step(None)
        if number > self._last_event:
            self._last_event = number
            event = Event(kind, payload, sender)
            step.incident = event
            handler = self.handlers.event
            if handler is not None:
                heed = handler
                step.handlers = [lambda: heed(event)]
        latest = self._last_event

        def done(message: _wire.ClientMessage) -> None:
            message.event_done = latest

        step.done = done
        return step


def hang_on_demand(seconds: float) -> None:
    """Blocks the main loop at a test's request; the crash log shows this name."""
    time.sleep(min(seconds, _LONGEST_HANG_SECONDS))


#: A year is forever, and time.sleep() takes it.
_LONGEST_HANG_SECONDS = 31_536_000.0

_apps: weakref.WeakSet[App] = weakref.WeakSet()


def _abandon_all() -> None:
    for app in list(_apps):
        app.abandon()


os.register_at_fork(after_in_child=_abandon_all)

#: The app of this process.
app = App()
atexit.register(app.abandon)
