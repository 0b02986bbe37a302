# SPDX-License-Identifier: Apache-2.0
"""Reads its configuration again on SIGHUP, and says so as sd_notify(3) has it, unless told otherwise.

Having announced it, makes a file CONFIGURATION.announced.

    reloading_app.py CONFIGURATION [silent] [slow=SECONDS] [stuck] [extend=SECONDS]
"""

import os
import signal
import socket
import sys
import time

path, options = sys.argv[1], sys.argv[2:]
connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
connection.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))


def say(text):
    connection.send(text.encode())


def read():
    with open(path) as file:
        return file.read().strip()


def reload(*_):
    if "silent" not in options:
        say(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        open(path + ".announced", "w").close()
    for option in options:
        if option.startswith("extend="):
            say(f"EXTEND_TIMEOUT_USEC={int(float(option[7:]) * 1e6)}\nPROGRESS={time.monotonic_ns()}")
        if option.startswith("slow="):
            time.sleep(float(option[5:]))
    text = read()
    if "silent" in options:
        say(f"STATUS={text}")
    elif "stuck" not in options:
        say(f"READY=1\nSTATUS={text}")


signal.signal(signal.SIGHUP, reload)
say(f"READY=1\nSTATUS={read()}")
while True:
    signal.pause()
