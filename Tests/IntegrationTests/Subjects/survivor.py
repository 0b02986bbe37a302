# SPDX-License-Identifier: Apache-2.0
"""Answers pings and writes down what happens to it: one line for each event, with the time on CLOCK_MONOTONIC.

It is not ready while there is a file LOG.wait, stops answering when a file LOG.hang appears, and ends with code 7 when
a file LOG.exit does.
"""

import os
import select
import signal
import socket
import sys
import time

log = sys.argv[1]


def note(*words):
    with open(log, "a") as file:
        print(f"{time.monotonic():.4f}", os.getpid(), *words, file=file, flush=True)


def told_to_end(*_):
    note("terminated")
    sys.exit(0)


note("started")
signal.signal(signal.SIGTERM, told_to_end)
end = socket.socket(fileno=int(os.environ["WATCHDOG_CHANNEL"]))


def send(text):
    try:
        end.send(text.encode())
    except OSError:
        pass  # watchdogd was killed a moment ago: the next receive says so.


send("HELLO=1")
while os.path.exists(log + ".wait"):
    time.sleep(0.02)
send("READY=1")
hung = False
while True:
    if os.path.exists(log + ".exit"):
        note("exits")
        os._exit(7)
    if not hung and os.path.exists(log + ".hang"):
        hung = True
        note("hangs")
    if hung or not select.select([end], [], [], 0.02)[0]:
        if hung:
            time.sleep(0.02)
        continue
    try:
        data = end.recv(4096)
    except ConnectionResetError:
        data = b""  # watchdogd was killed before it had read an answer.
    if not data:
        note("lost")
        hung = True
        continue
    fields = dict(line.split("=", 1) for line in data.decode().splitlines())
    if "PING" in fields:
        send(f"PONG={fields['PING']}")
        note("ping")
