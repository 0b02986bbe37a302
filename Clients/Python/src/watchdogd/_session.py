# SPDX-License-Identifier: Apache-2.0
"""The conversation with the supervisor: what is still to be said, and the answers to what it asks."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections import deque
from typing import Any, Callable

from . import _wire
from ._environment import Configuration

#: How long what could not be sent waits for the next attempt.
RETRY_SECONDS = 0.1
#: The most datagrams read in one go, so that a flood of them leaves the loop to the app's work.
READ_LIMIT_DATAGRAMS = 64

_SEND_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_FULL = (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM)


class _TokenBucket:
    """Lets a burst pass, then a fixed number per second."""

    def __init__(self, capacity: float, per_second: float, now: float) -> None:
        self._capacity = capacity
        self._per_second = per_second
        self._tokens = capacity
        self._filled = now

    def admit(self, now: float) -> bool:
        self._tokens = min(self._capacity, self._tokens + max(0.0, now - self._filled) * self._per_second)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Session:
    """Any thread and any signal handler may call send(); service() belongs to the loop that is watched.

    Nothing blocks. The loop calls service() when the descriptor is readable or the deadline has come.
    """

    def __init__(self) -> None:
        now = time.monotonic()
        #: Called on the thread that has said something when a deadline has come up that the loop does not know of.
        self.on_deadline: Callable[[], None] = _nothing
        #: Counts the calls of service(), for who wants to know whether the loop turns.
        self.turns = 0
        #: False until open(): what is said before is kept.
        self._is_open = False
        #: Stay open after the supervisor has exited, so that a loop that still waits on it waits on nothing else.
        self._ends: list[socket.socket] = []
        self._channel: socket.socket | None = None
        self._notify_socket: socket.socket | None = None
        self._notify_address = b""
        self._push_seconds: float | None = None
        self._outbox = _wire.ClientMessage()
        # Keeps a talkative app from crowding out its own answers.
        self._chatter = _TokenBucket(20, 10, now)
        # The same for what apps say more often and what travels many to a datagram: tasks.
        self._marks = _TokenBucket(100, 50, now)
        self._retry: float | None = None
        self._push: float | None = None
        self._is_loss_unreported = False
        # Whoever holds the lock says what others have put here meanwhile: so nobody waits, and a signal handler
        # that says something while the same thread is in the middle of it does no harm.
        self._said: deque[_wire.Change] = deque()
        self._lock = threading.Lock()

    def open(self, configuration: Configuration, has_lifecycle: bool = False) -> None:
        """Opens the conversation: a greeting, what has been said before, and a sign of life where it is asked for."""
        now = time.monotonic()
        with self._lock:
            self._is_open = True
            self._channel = configuration.channel
            self._notify_socket = configuration.notify_socket
            self._notify_address = configuration.notify_address
            self._push_seconds = configuration.push_seconds
            self._ends = [end for end in (self._channel, self._notify_socket) if end is not None]
            self._push = None if self._push_seconds is None else now
            if self._channel is not None:
                self._outbox.hello = has_lifecycle
                self._outbox.allows_faults = configuration.allows_faults
                self._outbox.process = os.getpid()
            self._flush(now)
        self._say_what_is_said()

    # MARK: - What the loop needs to know

    @property
    def is_supervised(self) -> bool:
        """False if nobody listens, or the supervisor has exited."""
        return self._channel is not None or self._notify_socket is not None

    @property
    def descriptor(self) -> int | None:
        """What to wait on for messages; None when there will be none."""
        channel = self._channel
        return None if channel is None else channel.fileno()

    @property
    def timeout_seconds(self) -> float | None:
        """How long until service() is due although nothing has arrived; None for never."""
        deadlines = [deadline for deadline in (self._push, self._retry) if deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    # MARK: - Calls

    def send(self, change: _wire.Change) -> None:
        """Says what `change` puts into a message, now if possible."""
        self._said.append(change)
        was_waiting = self._retry is not None
        self._say_what_is_said()
        if self._retry is not None and not was_waiting:
            self.on_deadline()

    def service(self) -> list[Any]:
        """Answers pings, pushes a sign of life if one is due, and tries again what could not be sent.

        Returns what the app should know: messages of the supervisor in the order of their arrival, and None when it
        has gone.
        """
        now = time.monotonic()
        incoming: list[Any] = []
        with self._lock:
            self.turns += 1
            self._receive(incoming, now)
            self._push_if_due(now)
            if self._retry is not None and self._retry <= now:
                self._flush(now)
            if self._is_loss_unreported:
                self._is_loss_unreported = False
                incoming.append(None)
        self._say_what_is_said()
        return incoming

    def _say_what_is_said(self) -> None:
        # Whoever holds the lock checks for new words after releasing it.
        lock = self._lock
        while self._said and lock.acquire(blocking=False):
            try:
                while self._said:
                    self._said.popleft()(self._outbox)
                self._flush(time.monotonic())
            finally:
                lock.release()

    def abandon(self) -> None:
        """Forgets the conversation: in a child that was forked, whose parent has it, and at the end."""
        if not self._is_open:
            self._lock = threading.Lock()
            return
        ends = self._ends
        self.__init__()  # type: ignore[misc]
        for end in ends:
            end.close()

    # MARK: - Receiving

    def _receive(self, incoming: list[Any], now: float) -> None:
        for _ in range(READ_LIMIT_DATAGRAMS):
            if self._channel is None:
                return
            try:
                # One byte more than is allowed, so that decoding can tell an overlong datagram.
                datagram = self._channel.recv(_wire.DATAGRAM_LIMIT_BYTES + 1, socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                datagram = b""
            if not datagram:
                self._disconnect()
                return
            message = _wire.SupervisorMessage.decode(datagram)
            if message.ping is not None:
                thread = threading.get_native_id()
                self._outbox.pong = message.ping
                self._outbox.thread = None if thread == os.getpid() else thread
                self._flush(now)
            incoming.append(message)
            if message.hang_microseconds is not None:
                return  # What comes after a hang is answered after it.

    # MARK: - Sending

    def _push_if_due(self, now: float) -> None:
        if self._push is None or self._push > now or self._push_seconds is None:
            return
        outcome = self._send_datagram(_wire.SIGN_OF_LIFE)
        self._push = now + (RETRY_SECONDS if outcome is None else self._push_seconds)
        if outcome:
            self._flush(now)

    def _flush(self, now: float) -> None:
        """Sends the outbox, or keeps it and sets the time of the next attempt."""
        if not self._is_open:
            return
        if not self.is_supervised:
            self._outbox = _wire.ClientMessage()
        if self._outbox == _wire.ClientMessage():
            return
        if not self._may_talk(now):
            if self._retry is None:
                self._retry = now + RETRY_SECONDS
            return
        self._retry = None
        if self._channel is None:
            self._outbox.remove_marks()
            # A supervisor that restarts may bind the address again; the next statement or sign of life carries
            # along what failed.
            outcome = self._send_datagram(self._outbox.encode_for_notify())
            if outcome:
                self._outbox = _wire.ClientMessage()
            elif outcome is None:
                self._retry = now + RETRY_SECONDS
            return
        while self._outbox != _wire.ClientMessage():
            datagram, rest = self._outbox.encode()
            outcome = self._send_datagram(datagram)
            if outcome is None:
                self._retry = now + RETRY_SECONDS
                return
            if not outcome:
                self._disconnect()
                return
            self._outbox = rest

    def _may_talk(self, now: float) -> bool:
        """False for a moment after much has been said."""
        if self._outbox.is_urgent:
            return True
        if self._retry is not None:
            # Those that had to wait go together, whatever has come in the meantime.
            return self._retry <= now
        return (self._chatter if self._outbox.has_words else self._marks).admit(now)

    def _send_datagram(self, datagram: bytes) -> bool | None:
        """True when it was sent, None when the receiver's queue is full, False when nobody receives now."""
        if not datagram:
            return True  # An empty datagram reads as the end of the conversation.
        try:
            if self._channel is not None:
                self._channel.send(datagram, _SEND_FLAGS)
            elif self._notify_socket is not None:
                self._notify_socket.sendto(datagram, _SEND_FLAGS, self._notify_address)
        except OSError as error:
            return None if error.errno in _FULL else False
        return True

    def _disconnect(self) -> None:
        self._channel = self._notify_socket = None
        self._outbox = _wire.ClientMessage()
        self._retry = None
        self._is_loss_unreported = True


def _nothing() -> None:
    pass
