# SPDX-License-Identifier: Apache-2.0
"""Holds the lock of a control socket: MODE LOCK FILE.

With "wait", it does nothing else. With "main", it then closes FILE; with "thread", another thread does, and the main
thread ends.
"""
import ctypes
import fcntl
import os
import signal
import sys
import threading
import time

mode, path, name = sys.argv[1:]
lock = open(path, "w")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
# A signal that is handled ends the part of the wait that signals can end.
signal.signal(signal.SIGUSR1, lambda *_: None)
if mode == "wait":
    print("held", flush=True)
    time.sleep(100000)
file = os.open(name, os.O_RDONLY)
print("held", flush=True)
if mode == "main":
    os.close(file)
threading.Thread(target=os.close, args=[file]).start()
EXIT = {"x86_64": 60, "aarch64": 93}
ctypes.CDLL(None).syscall(EXIT[os.uname().machine], 0)
