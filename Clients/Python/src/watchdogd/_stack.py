# SPDX-License-Identifier: Apache-2.0
"""Reports the Python functions that the main thread is in, when the thread does not return to its loop.

A crash log shows Python functions only for some versions of CPython. So a separate thread checks whether the channel
has a message that the loop does not read, and then reports in `STATUS=` which Python functions the main thread is in.
It answers no pings; the loop does. It cannot run while the main thread holds the GIL in native code.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from types import FrameType

from . import _wire
from ._app import App

#: The beginning of the status that this writes.
PREFIX = "stuck in "

_LONGEST_PATIENCE_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_POLL_MILLISECONDS = 1000


def describe(frame: FrameType | None, limit_bytes: int = _wire.STATUS_LIMIT_BYTES) -> str:
    """The calls of a thread, innermost first: `stuck in load_feed (feed.py:12) < main (app.py:30)`."""
    calls: list[str] = []
    length = len(PREFIX)
    while frame is not None:
        code = frame.f_code
        call = f"{code.co_qualname} ({os.path.basename(code.co_filename)}:{frame.f_lineno})"
        length += len(call.encode("utf-8", "replace")) + 3
        if length > limit_bytes:
            break
        calls.append(call)
        frame = frame.f_back
    return PREFIX + " < ".join(calls)


class StackTeller:
    """Watches the loop of the thread that creates it."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._thread_id = threading.get_ident()
        allowance_seconds = app.allowance_seconds
        self._patience_seconds = (
            _LONGEST_PATIENCE_SECONDS
            if allowance_seconds is None
            else min(_LONGEST_PATIENCE_SECONDS, allowance_seconds / 2)
        )
        descriptor = app.session.descriptor
        if descriptor is not None:
            threading.Thread(target=self._watch, args=(descriptor,), name="watchdogd-stack", daemon=True).start()

    def _watch(self, descriptor: int) -> None:
        session = self._app.session
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while session.descriptor == descriptor:
            turns = session.turns
            if not poller.poll(_POLL_MILLISECONDS) or self._waits(turns, self._patience_seconds):
                continue
            text = describe(sys._current_frames().get(self._thread_id))
            if session.turns == turns:
                self._say(text)
                self._waits(turns, None)
                self._say(self._app.status)

    def _waits(self, turns: int, limit_seconds: float | None) -> bool:
        """Waits until the loop has run; False if it has not in time."""
        ends = None if limit_seconds is None else time.monotonic() + limit_seconds
        while self._app.session.turns == turns:
            if self._app.session.descriptor is None:
                return True
            if ends is not None and time.monotonic() >= ends:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def _say(self, text: str) -> None:
        def change(message: _wire.ClientMessage) -> None:
            message.status = text

        self._app.say(change)
