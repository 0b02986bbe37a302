# SPDX-License-Identifier: Apache-2.0
"""The part of the zoo of hangs that is written in Python: answers one ping, then hangs as its first argument says."""

import ctypes
import fcntl
import os
import queue
import re
import select
import socket
import sqlite3
import subprocess
import sys
import threading
import time

channel = socket.socket(fileno=int(os.environ["WATCHDOG_CHANNEL"]))


def worker(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def thread_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def queue_get():
    queue.Queue().get()


def event_wait():
    threading.Event().wait()


def interpreter_lock():
    # PyDLL keeps the lock for the call.
    started = threading.Event()

    def hold():
        started.set()
        ctypes.PyDLL(None).sleep(1000)

    worker(hold)
    started.wait()
    while True:
        time.sleep(0.001)


def sqlite_busy():
    writer = sqlite3.connect("zoo.db", isolation_level=None, check_same_thread=False)
    writer.execute("create table if not exists t (a)")
    writer.execute("begin exclusive")
    reader = sqlite3.connect("zoo.db", timeout=1000, isolation_level=None)
    reader.execute("insert into t values (1)")


def child_process():
    subprocess.run(["sleep", "1000"])


def http_server_silent():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    client.send(b"GET / HTTP/1.1\r\n\r\n")
    client.recv(1)


def select_forever():
    pair = socket.socketpair()
    select.select([pair[0]], [], [])


def sleep_forever():
    time.sleep(1000)


def pipe_read():
    os.read(os.pipe()[0], 1)


def file_lock():
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl,sys,time;f=open('zoo.lock','w');fcntl.flock(f,2);print(1,flush=True);time.sleep(1000)",
        ],
        stdout=subprocess.PIPE,
    )
    child.stdout.readline()
    fcntl.flock(open("zoo.lock", "w"), fcntl.LOCK_EX)


def spin():
    while True:
        pass


def regular_expression():
    re.match("(a+)+$", "a" * 64 + "b")


fields = None
channel.send(f"HELLO=1\nPID={os.getpid()}".encode())
channel.send(b"READY=1")
while not fields or "PING" not in fields:
    fields = dict(line.split("=", 1) for line in channel.recv(4096).decode().splitlines())
channel.send(f"PONG={fields['PING']}".encode())
globals()[sys.argv[1]]()
