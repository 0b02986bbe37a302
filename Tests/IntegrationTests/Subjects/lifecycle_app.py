#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client of the channel with a main loop, written from the protocol's table alone.

usage: lifecycle_app.py [save=SECONDS] [leak] [lock=FILE | posix=FILE] [slow=SECONDS] [burn] [wrong] [marks]
"""
import fcntl
import os
import socket
import sys
import time

words = dict((w.split("=", 1) + [""])[:2] for w in sys.argv[1:])
channel = socket.socket(fileno=int(os.environ["WATCHDOG_CHANNEL"]))
begun = time.monotonic_ns()


def say(*lines):
    channel.send(("\n".join(lines) + "\n").encode())


say("HELLO=1", "LIFECYCLE=1", "LIBRARY=python/1")
if "burn" in words:
    while True:
        pass
if "marks" in words:
    now = time.monotonic_ns()
    say(f"SIGNPOST=begin 1 {begun} main launch\tread settings", f"SIGNPOST=end 1 {now} main launch\tread settings")
    say(f"SIGNPOST=begin 2 {begun} other net\tfetch", f"SIGNPOST=event 0 {now} main ui\tdrawn", "FIRST_FRAME=1")
say("READY=1")
print(*[os.environ[name] for name in ("WATCHDOG_STATE", "WATCHDOG_EVENT") if name in os.environ] or ["none"], flush=True)
if "wrong" in words:
    say("STATE_DONE=9", "EVENT_DONE=9", "END_TASK=9", "BEGIN_TASK=1 twice")
    say("BEGIN_TASK=1 twice")
    say("END_TASK=1")
held = None
ends = None
while True:
    channel.settimeout(None if ends is None else max(0.001, ends - time.monotonic()))
    try:
        message = channel.recv(8192).decode()
    except TimeoutError:
        say("END_TASK=1")
        ends = None
        continue
    if not message:
        break
    fields = dict(line.split("=", 1) for line in message.splitlines())
    if "PING" in fields:
        say("PONG=" + fields["PING"])
    if fields.get("STATE") == "background":
        if "slow" in words:
            time.sleep(float(words["slow"]))
        if "save" in words or "leak" in words:
            say("BEGIN_TASK=1 Saving library")
            ends = time.monotonic() + float(words["save"]) if "save" in words else None
        for kind in ("lock", "posix"):
            if words.get(kind):
                held = open(words[kind], "a")
                (fcntl.flock if kind == "lock" else fcntl.lockf)(held, fcntl.LOCK_EX)
    if fields.get("STATE") == "foreground" and held:
        held.close()
    if "STATE" in fields:
        say("STATE_DONE=" + fields["STATE_ID"])
    if "EXPIRE" in fields and "leak" not in words:
        say("END_TASK=1")
        ends = None
    if "EVENT" in fields:
        print("event", fields["EVENT"], fields.get("PAYLOAD", ""), flush=True)
        say("EVENT_DONE=" + fields["EVENT_ID"])
    if "TERMINATE" in fields:
        break
