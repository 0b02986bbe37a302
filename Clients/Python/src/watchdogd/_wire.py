# SPDX-License-Identifier: Apache-2.0
"""The messages of the channel and of sd_notify: names, limits, decoding and encoding. Nothing here does I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

PROTOCOL_VERSION = 1
LIBRARY = f"watchdogd-python/{PROTOCOL_VERSION}"

CHANNEL_VARIABLE = b"WATCHDOG_CHANNEL"
STATE_VARIABLE = b"WATCHDOG_STATE"
EVENT_VARIABLE = b"WATCHDOG_EVENT"
FAULTS_VARIABLE = b"WATCHDOG_FAULTS"
NOTIFY_VARIABLE = b"NOTIFY_SOCKET"
WATCHDOG_MICROSECONDS_VARIABLE = b"WATCHDOG_USEC"
WATCHDOG_PROCESS_VARIABLE = b"WATCHDOG_PID"

# Bounds of what may travel, in bytes of UTF-8.
DATAGRAM_LIMIT_BYTES = 4096
STATUS_LIMIT_BYTES = 1024
PROGRESS_LIMIT_BYTES = 256
SUMMARY_LIMIT_BYTES = 128
NAME_LIMIT_BYTES = 64
TASK_NAME_LIMIT_BYTES = 128
PAYLOAD_LIMIT_BYTES = 2048
SIGNPOST_MESSAGE_LIMIT_BYTES = 256

#: The most signposts that wait to be sent; more are dropped and counted.
SIGNPOST_LIMIT = 256

LARGEST_NUMBER = 2**64 - 1
LARGEST_MICROSECONDS = 2**63 - 1

_SOCKADDR_PATH_BYTES = 108


def number(value: bytes, smallest: int = 0, largest: int = LARGEST_NUMBER) -> int | None:
    """A decimal number within bounds: ASCII digits only, None for anything else."""
    # No datagram has as many digits as int() refuses.
    if len(value) > DATAGRAM_LIMIT_BYTES or not value.isdigit():
        return None
    result = int(value)
    return result if smallest <= result <= largest else None


def text(value: bytes, limit_bytes: int) -> str:
    """The value as text within a number of bytes, with U+FFFD for what is not UTF-8."""
    return cut(value.decode("utf-8", "replace").encode(), limit_bytes).decode()


def cut(encoded: bytes, limit_bytes: int) -> bytes:
    """The longest prefix within a number of bytes that ends with a whole character."""
    if len(encoded) <= limit_bytes:
        return encoded
    return encoded[:limit_bytes].decode("utf-8", "ignore").encode()


def fields(datagram: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The assignments of one datagram from anyone, each key once: the first assignment decides.

    The rules are those of systemd. Lines end at LF or CR; a NUL at the end is tolerated; a NUL elsewhere, or too
    many bytes, spoil the whole datagram.
    """
    if datagram.endswith(b"\0"):
        datagram = datagram[:-1]
    if len(datagram) > DATAGRAM_LIMIT_BYTES or b"\0" in datagram:
        return
    seen: set[bytes] = set()
    for line in re.split(b"[\r\n]", datagram):
        key, equals, value = line.partition(b"=")
        if not equals or not key or key in seen:
            continue
        seen.add(key)
        yield key, value


# MARK: - From the supervisor


@dataclass
class SupervisorMessage:
    """What one datagram of the supervisor says; what is unusable is left out."""

    ping: int | None = None
    #: The state to go to, and the number of the request.
    transition: tuple[str, int] | None = None
    background_microseconds: int | None = None
    is_expiring: bool = False
    #: Kind, number, payload, and the app that asked for it.
    event: tuple[str, int, str, str | None] | None = None
    is_terminating: bool = False
    #: How long to block the main loop, to be tested.
    hang_microseconds: int | None = None

    @property
    def is_for_lifecycle(self) -> bool:
        """True when it says something to apps with a lifecycle only."""
        return (
            self.transition is not None
            or self.background_microseconds is not None
            or self.is_expiring
            or self.event is not None
        )

    @classmethod
    def decode(cls, datagram: bytes) -> SupervisorMessage:
        message = cls()
        state = state_id = kind = event_id = None
        payload = ""
        sender = None
        for key, value in fields(datagram):
            match key:
                case b"PING":
                    message.ping = number(value)
                case b"STATE":
                    state = value.decode() if value in (b"foreground", b"background") else None
                case b"STATE_ID":
                    state_id = number(value, smallest=1)
                case b"BACKGROUND_USEC":
                    message.background_microseconds = number(value, smallest=1, largest=LARGEST_MICROSECONDS)
                case b"EXPIRE":
                    message.is_expiring = value == b"1"
                case b"TERMINATE":
                    message.is_terminating = value == b"1"
                case b"HANG_USEC":
                    message.hang_microseconds = number(value, smallest=1, largest=LARGEST_MICROSECONDS)
                case b"EVENT":
                    kind = text(value, NAME_LIMIT_BYTES)
                case b"EVENT_ID":
                    event_id = number(value, smallest=1)
                case b"PAYLOAD":
                    payload = text(value, PAYLOAD_LIMIT_BYTES)
                case b"EVENT_FROM":
                    sender = text(value, NAME_LIMIT_BYTES) or None
        if state is not None and state_id is not None:
            message.transition = (state, state_id)
        if kind is not None and event_id is not None:
            message.event = (kind, event_id, payload, sender)
        return message


# MARK: - To the supervisor


class Writer:
    """Builds a datagram of `KEY=VALUE` lines."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def flag(self, key: str, is_set: bool) -> None:
        if is_set:
            self._line(key, b"1")

    def number(self, key: str, value: int | None) -> None:
        if value is not None:
            self._line(key, b"%d" % value)

    def text(self, key: str, value: str | None, limit_bytes: int) -> None:
        if value is not None:
            self._line(key, field_text(value, limit_bytes))

    def lines(self, key: str, values: list[bytes]) -> list[bytes]:
        """Writes one line for each value as long as there is room, and returns the rest."""
        for index, value in enumerate(values):
            if len(self.bytes) + len(key) + len(value) + 2 > DATAGRAM_LIMIT_BYTES:
                return values[index:]
            self._line(key, value)
        return []

    def _line(self, key: str, value: bytes) -> None:
        self.bytes += key.encode() + b"=" + value + b"\n"


def signpost(phase: str, number: int, nanoseconds: int, is_main: bool, texts: tuple[str, str, str]) -> bytes:
    """The value of a signpost: category, name and message, of which the message may be empty."""
    limits = (NAME_LIMIT_BYTES, NAME_LIMIT_BYTES, SIGNPOST_MESSAGE_LIMIT_BYTES)
    parts = [field_text(value.replace("\t", " "), limit) for value, limit in zip(texts, limits)]
    place = b"main" if is_main else b"other"
    head = b"%s %d %d %s " % (phase.encode(), number, nanoseconds, place)
    return head + b"\t".join(parts if parts[2] else parts[:2])


def field_text(value: str, limit_bytes: int) -> bytes:
    """The text as a value. Line breaks and NUL would end it or spoil the datagram; they become spaces."""
    encoded = value.encode("utf-8", "replace").translate(bytes.maketrans(b"\n\r\0", b"   "))
    return cut(encoded, limit_bytes)


@dataclass
class ClientMessage:
    """What the app has to say. Of most things only the latest counts; the lists keep everything."""

    #: None, or whether the app takes part in the lifecycle.
    hello: bool | None = None
    allows_faults: bool = False
    process: int | None = None
    is_ready: bool = False
    pong: int | None = None
    thread: int | None = None
    status: str | None = None
    extension_microseconds: int | None = None
    progress: str | None = None
    summary: str | None = None
    is_stopping: bool = False
    state_done: int | None = None
    event_done: int | None = None
    is_first_frame: bool = False
    is_useful: bool = False
    #: Numbers and names.
    tasks_begun: list[tuple[int, str]] = field(default_factory=list)
    tasks_ended: list[int] = field(default_factory=list)
    launch_tasks_begun: list[str] = field(default_factory=list)
    launch_tasks_ended: list[str] = field(default_factory=list)
    #: As values, in the order in which they were set.
    signposts: list[bytes] = field(default_factory=list)
    signposts_lost: int = 0

    @property
    def is_urgent(self) -> bool:
        """True when it must not be held back because the app talks much."""
        return (
            self.hello is not None
            or self.is_ready
            or self.pong is not None
            or self.is_stopping
            or self.state_done is not None
            or self.event_done is not None
            or self.is_first_frame
            or self.is_useful
        )

    @property
    def has_words(self) -> bool:
        """True when it says something of which only the latest counts."""
        return any(
            word is not None for word in (self.status, self.summary, self.extension_microseconds, self.progress)
        )

    def end_task(self, task: int) -> None:
        """Says that a task has ended; one whose beginning has not been sent is not mentioned at all."""
        left = [(begun, name) for begun, name in self.tasks_begun if begun != task]
        if len(left) == len(self.tasks_begun):
            self.tasks_ended.append(task)
        self.tasks_begun = left

    def mark(self, signpost: bytes) -> None:
        """Sets a signpost, or counts it as lost."""
        if len(self.signposts) < SIGNPOST_LIMIT:
            self.signposts.append(signpost)
        else:
            self.signposts_lost += 1

    def remove_marks(self) -> None:
        """Removes what can be said over a channel only."""
        self.state_done = self.event_done = None
        self.is_first_frame = self.is_useful = False
        self.tasks_begun, self.tasks_ended = [], []
        self.launch_tasks_begun, self.launch_tasks_ended = [], []
        self.signposts, self.signposts_lost = [], 0

    def encode(self) -> tuple[bytes, ClientMessage]:
        """The datagram to send, and what it had no room for."""
        writer = Writer()
        if self.hello is not None:
            writer.number("HELLO", PROTOCOL_VERSION)
            writer.number("PID", self.process)
            writer.text("LIBRARY", LIBRARY, NAME_LIMIT_BYTES)
            writer.flag("LIFECYCLE", self.hello)
            writer.flag("FAULTS", self.allows_faults)
        writer.flag("READY", self.is_ready)
        writer.number("PONG", self.pong)
        writer.number("THREAD", self.thread)
        writer.text("STATUS", self.status, STATUS_LIMIT_BYTES)
        writer.number("EXTEND_TIMEOUT_USEC", self.extension_microseconds)
        writer.text("PROGRESS", self.progress, PROGRESS_LIMIT_BYTES)
        writer.text("SUMMARY", self.summary, SUMMARY_LIMIT_BYTES)
        writer.flag("STOPPING", self.is_stopping)
        writer.number("EVENT_DONE", self.event_done)
        writer.flag("FIRST_FRAME", self.is_first_frame)
        writer.flag("USEFUL", self.is_useful)
        writer.number("SIGNPOSTS_LOST", self.signposts_lost or None)
        rest = self._write_lists(writer)
        return bytes(writer.bytes), rest

    def _write_lists(self, writer: Writer) -> ClientMessage:
        """Writes the lists as far as there is room, and the state that is done, and returns what was not written.

        What is left of one list holds back all that follow: no end may overtake its beginning, and no app may be
        taken for idle in the background that has begun a task.
        """
        begun = [b"%d " % task + field_text(name, TASK_NAME_LIMIT_BYTES) for task, name in self.tasks_begun]
        lists: list[tuple[str, list[bytes]]] = [
            ("BEGIN_TASK", begun),
            ("STATE_DONE", [] if self.state_done is None else [b"%d" % self.state_done]),
            ("END_TASK", [b"%d" % task for task in self.tasks_ended]),
            ("BEGIN_LAUNCH_TASK", [field_text(name, NAME_LIMIT_BYTES) for name in self.launch_tasks_begun]),
            ("END_LAUNCH_TASK", [field_text(name, NAME_LIMIT_BYTES) for name in self.launch_tasks_ended]),
            ("SIGNPOST", self.signposts),
        ]
        left: list[int] = []
        for key, values in lists:
            left.append(len(values) if any(left) else len(writer.lines(key, values)))

        def rest_of(items: list[Any], count: int) -> list[Any]:
            return items[len(items) - count :]

        return ClientMessage(
            tasks_begun=rest_of(self.tasks_begun, left[0]),
            state_done=self.state_done if left[1] else None,
            tasks_ended=rest_of(self.tasks_ended, left[2]),
            launch_tasks_begun=rest_of(self.launch_tasks_begun, left[3]),
            launch_tasks_ended=rest_of(self.launch_tasks_ended, left[4]),
            signposts=rest_of(self.signposts, left[5]),
        )

    def encode_for_notify(self) -> bytes:
        """What can be said in sd_notify's words; empty when that is nothing."""
        writer = Writer()
        writer.flag("READY", self.is_ready)
        writer.flag("STOPPING", self.is_stopping)
        writer.text("STATUS", self.status, STATUS_LIMIT_BYTES)
        writer.number("EXTEND_TIMEOUT_USEC", self.extension_microseconds)
        writer.text("PROGRESS", self.progress, PROGRESS_LIMIT_BYTES)
        return bytes(writer.bytes)


SIGN_OF_LIFE = b"WATCHDOG=1\n"


def notify_address(variable: bytes) -> bytes | None:
    """The address in `NOTIFY_SOCKET`: an absolute path, or `@` and an abstract name; not `vsock:`."""
    if len(variable) < 2:
        return None
    if variable.startswith(b"/"):
        return variable if len(variable) < _SOCKADDR_PATH_BYTES else None
    if variable.startswith(b"@"):
        return b"\0" + variable[1:] if len(variable) <= _SOCKADDR_PATH_BYTES else None
    return None


Change = Callable[[ClientMessage], None]
