# SPDX-License-Identifier: Apache-2.0
"""A scripted supervisor: the other end of the channel, or of a notify socket."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_SECONDS = 10.0
SOURCES = Path(__file__).resolve().parent.parent / "src"
VARIABLES = (
    "WATCHDOG_CHANNEL",
    "WATCHDOG_STATE",
    "WATCHDOG_EVENT",
    "WATCHDOG_FAULTS",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
)


def clean_environment() -> None:
    for name in VARIABLES:
        os.environ.pop(name, None)


class Supervisor:
    """One end of a channel; the other is for the app."""

    def __init__(self, **variables: str) -> None:
        clean_environment()
        self.end, self.app_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.end.settimeout(LIMIT_SECONDS)
        os.environ.update(variables)

    def offer(self) -> None:
        """Leaves the app's end in the environment of this process, which then owns it."""
        os.environ["WATCHDOG_CHANNEL"] = str(self.app_end.detach())

    def run(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Starts Python code, or a file, with the channel."""
        number = self.app_end.fileno()
        environment = dict(os.environ, WATCHDOG_CHANNEL=str(number), PYTHONPATH=str(SOURCES))
        words = [program, *arguments] if program.endswith(".py") else ["-c", program, *arguments]
        process = subprocess.Popen(
            [sys.executable, *words],
            pass_fds=[number],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.app_end.close()
        return process

    def say(self, *lines: str) -> None:
        self.end.send("\n".join(lines).encode())

    def hear(self) -> list[str]:
        """The lines of the next datagram; empty when the app has gone."""
        return self.end.recv(8192).decode().splitlines()

    def hear_until(self, line: str) -> list[str]:
        """The lines of all datagrams up to the one that has `line`."""
        heard: list[str] = []
        while line not in heard:
            lines = self.hear()
            if not lines:
                raise AssertionError(f"expected {line!r}, heard {heard} and then the end")
            heard += lines
        return heard

    @property
    def is_silent(self) -> bool:
        return not select.select([self.end], [], [], 0)[0]

    def close(self) -> None:
        self.end.close()
        self.app_end.close()
        clean_environment()


class NotifySupervisor:
    """A notify socket."""

    def __init__(self, is_abstract: bool = False, **variables: str) -> None:
        clean_environment()
        self._folder = tempfile.TemporaryDirectory()
        path = f"{self._folder.name}/notify"
        self.end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.end.settimeout(LIMIT_SECONDS)
        self.end.bind("\0" + path if is_abstract else path)
        os.environ["NOTIFY_SOCKET"] = "@" + path if is_abstract else path
        os.environ.update(variables)

    def hear(self) -> list[str]:
        return self.end.recv(8192).decode().splitlines()

    def close(self) -> None:
        self.end.close()
        self._folder.cleanup()
        clean_environment()
