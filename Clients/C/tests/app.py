# SPDX-License-Identifier: Apache-2.0
"""A program with a channel or a notify socket, and the supervisor that the tests play."""

import contextlib
import os
import select
import socket
import subprocess
import tempfile
import time

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(FOLDER, "build")
LIMIT_S = 20.0
VARIABLES = ("WATCHDOG_CHANNEL", "WATCHDOG_STATE", "WATCHDOG_EVENT", "WATCHDOG_FAULTS", "NOTIFY_SOCKET",
             "WATCHDOG_USEC", "WATCHDOG_PID")
WARNINGS = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-g", "-I" + FOLDER, "-pthread"]
SANITIZERS = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
GLUE = {"glib": "glib-2.0", "sd-event": "libsystemd", "libuv": "libuv", "libevent": "libevent_core"}


class Skip(Exception):
    """The test cannot run here; says why."""


class App:
    """A program with a channel, and this end of it."""

    def __init__(self, program, *arguments, environment=None, channel=True, buffer_bytes=None, greeted=True):
        self.channel = None
        values = {key: value for key, value in os.environ.items() if key not in VARIABLES}
        values["ASAN_OPTIONS"] = "detect_leaks=1"
        inherited = ()
        theirs = None
        if channel:
            self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.channel.settimeout(LIMIT_S)
            if buffer_bytes:
                theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_bytes)
            values["WATCHDOG_CHANNEL"] = str(theirs.fileno())
            inherited = (theirs.fileno(),)
        values.update(environment or {})
        self.process = subprocess.Popen(
            [os.path.join(BUILD, program), *arguments], env=values, pass_fds=inherited, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        if theirs:
            theirs.close()
        self.printed = b""
        if channel and greeted:
            self.greeting = self.hear()

    def tell(self, *commands):
        self.process.stdin.write("".join(command + "\n" for command in commands).encode())

    def obey(self, *commands):
        """Waits until they are done, for what is said on the channel may overtake them."""
        self.tell(*commands, "turns")
        line = self.line()
        assert line.startswith("turns"), line

    def line(self, limit_s=LIMIT_S):
        """The next line that the program prints."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self.printed:
            left_s = deadline - time.monotonic()
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, left_s))
            assert readable, "nothing printed"
            added = os.read(self.process.stdout.fileno(), 65536)
            assert added, "ended: " + self.errors()
            self.printed += added
        line, self.printed = self.printed.split(b"\n", 1)
        return line.decode()

    def lines_until(self, last):
        lines = []
        while not lines or lines[-1] != last:
            lines.append(self.line())
        return lines[:-1]

    def ask(self):
        self.tell("ask")
        words = self.line().split()
        return dict(zip(words[::2], words[1::2]))

    def say(self, text):
        self.channel.send(text if isinstance(text, bytes) else text.encode())

    def hear(self, limit_s=LIMIT_S):
        """The lines of the next datagram."""
        self.channel.settimeout(limit_s)
        datagram = self.channel.recv(8192)
        assert datagram, "the channel is closed: " + self.errors()
        assert len(datagram) <= 4096 and datagram.endswith(b"\n"), datagram
        return datagram.decode().splitlines()

    def hears_nothing(self, limit_s=0.1):
        readable, _, _ = select.select([self.channel], [], [], limit_s)
        return not readable

    def expect(self, *lines):
        heard = self.hear()
        assert heard == list(lines), f"heard {heard}, not {list(lines)}"

    def ping(self, nonce):
        self.say(f"PING={nonce}")
        self.expect(f"PONG={nonce}")

    def errors(self):
        readable, _, _ = select.select([self.process.stderr], [], [], 1)
        return os.read(self.process.stderr.fileno(), 65536).decode(errors="replace") if readable else ""

    def end(self):
        """Lets it end by itself; the sanitizers speak through the exit code."""
        self.process.stdin.close()
        code = self.process.wait(LIMIT_S)
        assert code == 0, f"exit code {code}: {self.errors()}"

    def await_heeding(self, number):
        """Waits until it catches or blocks a signal."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii", errors="replace") as file:
                fields = dict(line.split(":", 1) for line in file)
            if any(int(fields[name], 16) & 1 << (number - 1) for name in ("SigCgt", "SigBlk")):
                return
            assert time.monotonic() < deadline, f"signal {number} would end it"
            time.sleep(0.01)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(LIMIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr, self.channel):
            if stream:
                stream.close()


@contextlib.contextmanager
def notify_socket(is_abstract=False):
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        name = f"@libwatchdog-{os.getpid()}" if is_abstract else os.path.join(folder, "notify")
        ours.bind("\0" + name[1:] if is_abstract else name)
        ours.settimeout(LIMIT_S)
        yield ours, name


def pkg_config(name):
    question = ["pkg-config", "--cflags", "--libs", GLUE[name]]
    found = subprocess.run(question, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise Skip(f"pkg-config does not know {GLUE[name]}")
    return found.stdout.split()
