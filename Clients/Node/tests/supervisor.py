#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sockets that Node does not have: plays the supervisor of a program for the tests, which lead it over stdio.

Usage: supervisor.py channel|notify|abstract|none PROGRAM [ARGUMENT...]

Standard input has JSON, one command a line: {"say": text}, {"bytes": hex}, {"fill": true} to leave no room for what the
program says, {"drain": true} to read again, {"close": true}, {"signal": number}. Standard output has what happened:
{"pid": n}, {"heard": [lines]}, {"printed": line}, {"done": command}, {"exit": code}. The program is killed at the end of
standard input.
"""

import json
import os
import select
import socket
import subprocess
import sys
import tempfile

VARIABLES = ("WATCHDOG_CHANNEL", "WATCHDOG_STATE", "WATCHDOG_EVENT", "NOTIFY_SOCKET")


def tell(**said):
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


class Lines:
    """The lines of a descriptor, as they come."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.rest = b""

    def read(self):
        """None at the end."""
        added = os.read(self.descriptor, 65536)
        *lines, self.rest = (self.rest + added).split(b"\n")
        return lines if added else None


class Supervisor:
    def __init__(self, kind, words, folder):
        environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
        self.end = theirs = None
        self.is_deaf = False
        inherited = []
        if kind == "channel":
            self.end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            inherited = [theirs.fileno()]
            environment["WATCHDOG_CHANNEL"] = str(theirs.fileno())
            environment.update({key: os.environ[key] for key in VARIABLES[1:3] if key in os.environ})
        elif kind == "none":
            environment.update({key: os.environ[key] for key in VARIABLES if key in os.environ})
        else:
            self.end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            path = folder + "/notify"
            self.end.bind("\0" + path if kind == "abstract" else path)
            environment["NOTIFY_SOCKET"] = "@" + path if kind == "abstract" else path
        self.process = subprocess.Popen(words, env=environment, pass_fds=inherited, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE)
        self.theirs = theirs
        tell(pid=self.process.pid)

    def obey(self, command):
        if "say" in command:
            self.end.send(command["say"].encode())
        elif "bytes" in command:
            self.end.send(bytes.fromhex(command["bytes"]))
        elif "fill" in command:
            self.is_deaf = True
            try:
                while True:
                    self.theirs.send(b"x" * 1000, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
        elif "drain" in command:
            self.is_deaf = False
        elif "close" in command:
            self.theirs.close()
            self.end.close()
            self.end = None
        elif "signal" in command:
            self.process.send_signal(command["signal"])
        tell(done=list(command)[0])

    def listen(self):
        # A passed descriptor ends the wait of systemd-notify(1) when it is closed (sd_notify_barrier(3)).
        datagram, descriptors, _, _ = socket.recv_fds(self.end, 8192, 8)
        for descriptor in descriptors:
            os.close(descriptor)
        if descriptors:
            return
        if datagram:
            if datagram.strip(b"x"):
                tell(heard=datagram.decode().splitlines())
        else:
            self.end.close()
            self.end = None

    def run(self):
        commands, printed = Lines(0), Lines(self.process.stdout.fileno())
        pidfd = os.pidfd_open(self.process.pid)
        while True:
            waits = [commands.descriptor, printed.descriptor if printed else None, pidfd]
            if self.end and not self.is_deaf:
                waits.append(self.end.fileno())
            readable, _, _ = select.select([each for each in waits if each is not None], [], [])
            if self.end and self.end.fileno() in readable and not self.is_deaf:
                self.listen()
                continue
            if printed and printed.descriptor in readable:
                lines = printed.read()
                for line in lines or []:
                    tell(printed=line.decode())
                if lines is None:
                    printed = None
                continue
            if pidfd is not None and pidfd in readable:
                tell(exit=self.process.wait())
                pidfd = None
            if commands.descriptor in readable:
                lines = commands.read()
                if lines is None:
                    return
                for line in lines:
                    self.obey(json.loads(line))


def main():
    with tempfile.TemporaryDirectory() as folder:
        supervisor = Supervisor(sys.argv[1], sys.argv[2:], folder)
        try:
            supervisor.run()
        finally:
            if supervisor.process.poll() is None:
                supervisor.process.kill()
                supervisor.process.wait()


main()
