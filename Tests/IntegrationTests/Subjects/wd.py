# SPDX-License-Identifier: Apache-2.0
"""What the Python programs of the tests share: sd_notify(3) by hand, and the channel of watchdogd."""

import array
import os
import select
import signal
import socket
import sys
import threading
import time


def notify(*assignments, descriptors=()):
    """Sends one datagram, the way programs do that link nothing for it."""
    address = os.environ["NOTIFY_SOCKET"]
    if address[0] == "@":
        address = "\0" + address[1:]
    data = [a if isinstance(a, bytes) else a.encode() for a in assignments]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.connect(address)
        sender.sendmsg([b"\n".join(data)], rights)


def barrier():
    """Returns when everything that was said before it was heeded."""
    ours, theirs = os.pipe()
    notify("BARRIER=1", descriptors=[theirs])
    os.close(theirs)
    poll = select.poll()
    poll.register(ours, select.POLLHUP)
    answered = poll.poll(600_000)
    os.close(ours)
    return bool(answered)


def channel():
    """The program's end of the channel."""
    return socket.socket(fileno=int(os.environ["WATCHDOG_CHANNEL"]))


def say(*words):
    print(*words, flush=True)


def push(times, interval):
    """Signs of life."""
    for _ in range(times):
        notify("WATCHDOG=1")
        time.sleep(interval)


def hang():
    while True:
        time.sleep(3600)
