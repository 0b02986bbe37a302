# SPDX-License-Identifier: Apache-2.0
"""The connection for a program that serves its own loop."""

from __future__ import annotations

import selectors
from datetime import timedelta

from ._app import App, Incident


class Link:
    """What a loop waits on, and what it calls then.

    The supervisor watches whatever calls service(). Call it from the loop that must not hang, and from nowhere else::

        link = watchdogd.link()
        watchdogd.ready()
        while True:
            # Or the loop's own select(), with link.descriptor and link.timeout.
            link.wait(timedelta(seconds=1))
            if watchdogd.Terminate() in link.service():
                break
            ...  # the program's own work

    It belongs to the thread of the loop.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def descriptor(self) -> int | None:
        """The descriptor to wait on for reading; None if no message will arrive.

        Stop waiting on it when service() has returned Disconnected.
        """
        return self._app.session.descriptor

    @property
    def timeout(self) -> float | None:
        """The seconds after which service() is due even if nothing has arrived; None without a limit."""
        return self._app.timeout_seconds

    def wait(self, limit: timedelta) -> bool:
        """Waits until service() is due, for at most `limit`; True when it is.

        For loops that wait only for time. A loop that serves a queue uses short timeouts for the queue and calls
        service() in between.
        """
        timeout, descriptor = self.timeout, self.descriptor
        seconds = limit.total_seconds() if timeout is None else min(timeout, limit.total_seconds())
        with selectors.DefaultSelector() as selector:
            if descriptor is not None:
                selector.register(descriptor, selectors.EVENT_READ)
            is_readable = bool(selector.select(max(0.0, seconds)))
        return is_readable or self.timeout == 0

    def service(self) -> list[Incident]:
        """Answers pings, sends what is due and returns what has happened; never blocks by itself.

        Call it when `descriptor` is readable and when `timeout` has passed; extra calls do no harm. With a lifecycle,
        this runs the handlers that link() got, and reports a state or event as done when its handler has returned. If a
        handler raises, so does this call; the next call runs the handlers that remain.
        """
        at_once = self._app.receive()
        incidents: list[Incident] = []
        while (step := self._app.next_step()) is not None:
            try:
                for handler in step.handlers:
                    handler()
            finally:
                self._app.finish(step)
            if step.incident is not None:
                incidents.append(step.incident)
        return incidents + at_once
