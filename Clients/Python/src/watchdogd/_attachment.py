# SPDX-License-Identifier: Apache-2.0
"""The connection on an asyncio event loop."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from typing import Any

from ._app import App, Disconnected, Handler, Step, Terminate


class Attachment:
    """Answers for an event loop, from attach() on. There is nothing to call: it lives as long as the loop.

    Everything here happens on the loop; an answer proves that the loop gets to its next callback.
    """

    def __init__(self, app: App, loop: asyncio.AbstractEventLoop) -> None:
        self._app = app
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._is_ending = False
        self._ending: asyncio.Future[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._watched = app.session.descriptor
        if self._watched is not None:
            loop.add_reader(self._watched, self._service)
        if app.handlers.terminate is not None and threading.current_thread() is threading.main_thread():
            try:
                loop.add_signal_handler(signal.SIGTERM, self._terminate)
            except (NotImplementedError, RuntimeError, ValueError):
                pass  # SIGTERM stays what it is; the request over the channel is heard all the same.
        app.session.on_deadline = self._wake
        self._arm()

    @property
    def is_closed(self) -> bool:
        """True when the loop has been closed; attach() can then be called for another one."""
        return self._loop.is_closed()

    # MARK: - Time

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._service)
        except RuntimeError:
            pass  # The loop is closed.

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        timeout_seconds = self._app.session.timeout_seconds
        if timeout_seconds is not None:
            self._timer = self._loop.call_later(timeout_seconds, self._service)

    # MARK: - Service

    def _service(self) -> None:
        try:
            for incident in self._app.receive():
                if isinstance(incident, Terminate):
                    self._terminate()
                elif isinstance(incident, Disconnected):
                    self._stop_reading()
            self._go_on()
        finally:
            self._arm()

    def _stop_reading(self) -> None:
        if self._watched is not None:
            self._loop.remove_reader(self._watched)
            self._watched = None

    def _terminate(self) -> None:
        """Calls the handler the first time: the request comes over the channel and as SIGTERM."""
        handler = self._app.handlers.terminate
        if self._is_ending or handler is None:
            return
        self._is_ending = True
        result = self._call(handler)
        if inspect.isawaitable(result):
            self._ending = asyncio.ensure_future(self._awaited(result), loop=self._loop)

    def _go_on(self) -> None:
        """Does one step after the other; what a step awaits holds back the next ones, but no answer."""
        while self._task is None and (step := self._app.next_step()) is not None:
            pending = [result for handler in step.handlers if inspect.isawaitable(result := self._call(handler))]
            if pending:
                self._task = self._loop.create_task(self._finish(step, pending))
            else:
                self._app.finish(step)

    async def _finish(self, step: Step, pending: list[Any]) -> None:
        for awaitable in pending:
            await self._awaited(awaitable)
        self._app.finish(step)
        self._task = None
        self._go_on()

    def _call(self, handler: Handler) -> Any:
        try:
            return handler()
        except Exception as error:
            self._report(error)
            return None

    async def _awaited(self, awaitable: Any) -> None:
        try:
            await awaitable
        except Exception as error:
            self._report(error)

    def _report(self, error: Exception) -> None:
        self._loop.call_exception_handler({"message": "a handler of watchdogd failed", "exception": error})
