# SPDX-License-Identifier: Apache-2.0
"""Who supervises this process, and how it is reached."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from . import _wire

_NANOSECONDS_PER_MICROSECOND = 1000


@dataclass(frozen=True)
class Launch:
    """To what the supervisor wants the launch to lead."""

    #: True when the app is launched into the background.
    is_in_background: bool = False
    #: The kind of the event that the app is launched to handle; the event itself follows after ready().
    event_kind: str | None = None


@dataclass
class Configuration:
    """The way to the supervisor; none when both sockets are None."""

    channel: socket.socket | None = None
    notify_socket: socket.socket | None = None
    notify_address: bytes = b""
    #: The time from one sign of life to the next, where signs of life are asked for.
    push_seconds: float | None = None
    #: The time within which the main loop has to answer, if the environment says it.
    allowance_seconds: float | None = None
    launch: Launch = field(default_factory=Launch)
    #: True when the supervisor may have the main loop block.
    allows_faults: bool = False


def take_from_environment() -> Configuration:
    """Reads what the supervisor left in the environment, and takes the channel and what belongs to it out of it.

    Programs that this one starts must not mistake it for theirs. What is unusable counts as absent.
    """
    channel = _take(_wire.CHANNEL_VARIABLE)
    state = _take(_wire.STATE_VARIABLE)
    event = _take(_wire.EVENT_VARIABLE)
    faults = _take(_wire.FAULTS_VARIABLE)
    result = Configuration(allowance_seconds=_allowance_seconds())
    result.channel = _inherited_channel(channel)
    if result.channel is not None:
        kind = None if event is None else _wire.text(event, _wire.NAME_LIMIT_BYTES)
        result.allows_faults = faults == b"1"
        result.launch = Launch(is_in_background=state == b"background", event_kind=kind)
        return result
    address = _wire.notify_address(os.environb.get(_wire.NOTIFY_VARIABLE, b""))
    if address is None:
        return result
    try:
        result.notify_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        return result
    result.notify_socket.setblocking(False)
    result.notify_address = address
    if result.allowance_seconds is not None and _is_watchdog_process():
        # Half of the allowance, as sd_watchdog_enabled(3) recommends.
        result.push_seconds = result.allowance_seconds / 2
    return result


def _take(name: bytes) -> bytes | None:
    return os.environb.pop(name, None)


def _allowance_seconds() -> float | None:
    microseconds = _wire.number(
        os.environb.get(_wire.WATCHDOG_MICROSECONDS_VARIABLE, b""),
        smallest=1,
        largest=_wire.LARGEST_MICROSECONDS // _NANOSECONDS_PER_MICROSECOND,
    )
    return None if microseconds is None else microseconds / 1_000_000


def _is_watchdog_process() -> bool:
    process = os.environb.get(_wire.WATCHDOG_PROCESS_VARIABLE)
    return process is None or _wire.number(process) == os.getpid()


def _inherited_channel(variable: bytes | None) -> socket.socket | None:
    """Takes over an inherited descriptor if it is what a supervisor passes: a connected AF_UNIX SOCK_SEQPACKET socket.

    Anything else belongs to somebody else and is left alone. What is taken over does not pass to programs that this
    one starts.
    """
    number = _wire.number(variable or b"", largest=2**31 - 1)
    if number is None:
        return None
    try:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=number)
    except (OSError, ValueError):
        return None
    try:
        domain = channel.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
        kind = channel.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
        if domain != socket.AF_UNIX or kind != socket.SOCK_SEQPACKET:
            raise OSError("not a channel")
        channel.getpeername()
        channel.set_inheritable(False)
        channel.setblocking(False)
    except OSError:
        channel.detach()
        return None
    return channel
