#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of the channel protocol with one fault, or with none: client.py FAULT"""
import os
import select
import signal
import socket
import sys
import threading
import time

FAULT = sys.argv[1]


def attach():
    text = os.environ.pop("WATCHDOG_CHANNEL", "")
    if FAULT == "trusting" and text:
        channel = socket.socket(fileno=int(text))
        channel.set_inheritable(False)
        return channel
    try:
        channel = socket.socket(fileno=int(text))
    except (ValueError, OSError):
        return None
    channel.set_inheritable(FAULT == "inheriting")
    return channel


channel = attach()
known_state = known_event = 0
tasks = 0


def say(*lines):
    try:
        channel.send("\n".join(lines).encode(), socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def number(text):
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 64:
        raise ValueError(text)
    return int(text)


def fields(datagram):
    said = {}
    if b"\0" in datagram or len(datagram) > 4096:
        return said
    for line in datagram.decode(errors="replace").replace("\r", "\n").split("\n"):
        key, equals, value = line.partition("=")
        if equals and key and (FAULT == "last" or key not in said):
            said[key] = value
    return said


waiting = []


def answer(line):
    """Keeps what does not get through for the next time; of pongs, the newest."""
    if line.startswith("PONG"):
        waiting[:] = [other for other in waiting if not other.startswith("PONG")]
    waiting.append(line)
    while waiting and say(waiting[0]):
        waiting.pop(0)


def heed(said):
    global known_state, known_event, tasks
    if "PING" in said:
        try:
            ping = number(said["PING"]) if FAULT != "lenient" else int(said["PING"])
            answer("PONG=%d" % (float(ping) if FAULT == "float" else ping))
        except ValueError:
            if FAULT == "fragile":
                raise
    if FAULT == "strict" and set(said) - {"PING", "STATE", "STATE_ID", "EVENT", "EVENT_ID", "PAYLOAD", "EXPIRE",
                                          "BACKGROUND_USEC", "TERMINATE"}:
        sys.exit(3)
    if said.get("STATE") in ("foreground", "background") and "STATE_ID" in said:
        state = number(said["STATE_ID"])
        if state > known_state or FAULT != "once":
            if said["STATE"] == "background" and state > known_state:
                tasks += 1
                say("BEGIN_TASK=%d saving" % tasks)
            known_state = max(known_state, state)
            answer("STATE_DONE=%d" % state)
    if said.get("EXPIRE") == "1" and FAULT != "tireless":
        for task in range(1, tasks + 1):
            answer("END_TASK=%d" % task)
        tasks = 0
    if "EVENT" in said and "EVENT_ID" in said and said["EVENT_ID"] not in ("", "0"):
        if said["EVENT"] == "conformance-block":
            time.sleep(int(said["PAYLOAD"]) / 1000)
        answer("EVENT_DONE=%s" % said["EVENT_ID"])
    if said.get("TERMINATE") == "1" and FAULT != "stubborn":
        sys.exit(0)


def answer_elsewhere():
    """What no client may do: a thread that answers whatever the main loop does."""
    while True:
        datagram = channel.recv(4097)
        if not datagram:
            return
        said = fields(datagram)
        try:
            if "PING" in said:
                say("PONG=%d" % number(said.pop("PING")))
        except ValueError:
            pass
        if said:
            queue.append(said)


queue = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if channel is not None:
    if FAULT == "hasty":
        say("READY=1")
    say("HELLO=1", "LIBRARY=client.py", "LIFECYCLE=1")
    if FAULT != "unready":
        say("READY=1" if FAULT != "chatty" else "READY=1\nMOOD=good")
    if FAULT == "elsewhere":
        threading.Thread(target=answer_elsewhere, daemon=True).start()
    while FAULT == "elsewhere":
        time.sleep(0.01)
        while queue:
            heed(queue.pop(0))
while channel is not None:
    select.select([channel], [], [], 0.1 if waiting else None)
    while waiting and say(waiting[0]):
        waiting.pop(0)
    try:
        datagram = channel.recv(4097, socket.MSG_DONTWAIT)
    except BlockingIOError:
        continue
    if not datagram:
        if FAULT == "spinning":
            continue
        if FAULT == "abrupt":
            os.abort()
        break
    heed(fields(datagram))
while True:
    time.sleep(60)
