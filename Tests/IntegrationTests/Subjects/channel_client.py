# SPDX-License-Identifier: Apache-2.0
"""A client of watchdogd's channel without any library. With a number, it answers that many pings and then hangs."""

import os
import signal
import socket
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # TERMINATE=1 comes beside it.
limit = int(sys.argv[1]) if len(sys.argv) > 1 else None
end = socket.socket(fileno=int(os.environ["WATCHDOG_CHANNEL"]))
end.send(f"HELLO=1\nPID={os.getpid()}\nLIBRARY=python".encode())
end.send(f"READY=1\nSUMMARY=answers {limit or 'all'} pings".encode())
answered = 0
while answered != limit:
    fields = dict(line.split("=", 1) for line in end.recv(4096).decode().splitlines())
    if "PING" in fields:
        end.send(f"PONG={fields['PING']}".encode())
        answered += 1
        print("answered", answered, flush=True)
    if "TERMINATE" in fields:
        print("told to terminate", flush=True)
        sys.exit(0)
time.sleep(3600)
