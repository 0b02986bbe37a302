# SPDX-License-Identifier: Apache-2.0
"""Background tasks, and the tasks that extend what is measured as the launch."""

from __future__ import annotations

import itertools
import time
from datetime import timedelta
from types import TracebackType
from typing import Any, Callable

from . import _wire

#: The maximum number of tasks that can extend a launch.
LAUNCH_TASK_LIMIT = 16

Say = Callable[[_wire.Change], None]
ExpirationHandler = Callable[[], Any]


class BackgroundTask:
    """Work that should go on in the background; a context manager that ends it.

    It can also be ended by hand, from any thread.
    """

    def __init__(self, tasks: BackgroundTasks, number: int, name: str, on_expire: ExpirationHandler | None) -> None:
        self._tasks = tasks
        self._number = number
        self._on_expire = on_expire
        self.name = name

    @property
    def is_expired(self) -> bool:
        """True when the time for it is nearly over: end it now, or the app is killed."""
        return self._tasks.is_expired

    def end(self) -> None:
        """Ends the task. A second call does nothing."""
        self._tasks.end(self._number)

    def take_handler(self) -> ExpirationHandler | None:
        """The handler, the first time."""
        handler, self._on_expire = self._on_expire, None
        return handler

    def __enter__(self) -> BackgroundTask:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()


class BackgroundTasks:
    """The open background tasks of the process and the time they have. Any thread may use it."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._numbers = itertools.count(1)
        self._open: dict[int, BackgroundTask] = {}
        self._deadline: float | None = None
        #: True from the supervisor's word that the time is nearly over until the app is in the foreground again.
        self.is_expired = False
        self.is_foreground = True
        self.is_closed = False

    def begin(self, name: str, on_expire: ExpirationHandler | None) -> BackgroundTask:
        if self.is_closed:
            return BackgroundTask(self, 0, name, None)
        name = str(name)
        number = next(self._numbers)
        task = BackgroundTask(self, number, name, on_expire)
        self._open[number] = task
        self._say(lambda message: message.tasks_begun.append((number, name)))
        return task

    def end(self, number: int) -> None:
        if self._open.pop(number, None) is not None:
            self._say(lambda message: message.end_task(number))

    @property
    def time_remaining(self) -> timedelta | None:
        deadline = self._deadline
        if self.is_foreground or deadline is None:
            return None
        return timedelta(seconds=max(0.0, deadline - time.monotonic()))

    def set_foreground(self, is_foreground: bool) -> None:
        self.is_foreground = is_foreground
        if is_foreground:
            self.is_expired = False
            self._deadline = None

    def set_time(self, microseconds: int) -> None:
        # A year is as good as forever, and fits into every type of time.
        self._deadline = time.monotonic() + min(microseconds / 1_000_000, 365 * 86400)

    def forget_time(self) -> None:
        self._deadline = None

    def expire(self) -> list[ExpirationHandler]:
        """The handlers of all open tasks, in the order of their beginnings; each is handed out once."""
        if self.is_foreground:
            return []
        self.is_expired = True
        return [handler for task in sorted(self._open) if (handler := self._handler(task)) is not None]

    def _handler(self, number: int) -> ExpirationHandler | None:
        task = self._open.get(number)
        handler = None if task is None else task.take_handler()
        if handler is None:
            return None
        # A task that an earlier handler has ended is left out.
        return lambda: handler() if number in self._open else None


class LaunchTasks:
    """The tasks that extend what is measured as the launch."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._open: set[str] = set()
        self._seen: set[str] = set()
        self.is_launched = False

    def begin(self, name: str) -> bool:
        name = str(name)
        is_late = self.is_launched and not self._open
        if is_late or name in self._seen or len(self._seen) >= LAUNCH_TASK_LIMIT:
            return False
        self._seen.add(name)
        self._open.add(name)
        self._say(lambda message: message.launch_tasks_begun.append(name))
        return True

    def end(self, name: str) -> None:
        name = str(name)
        self._open.discard(name)
        self._say(lambda message: message.launch_tasks_ended.append(name))
