# SPDX-License-Identifier: Apache-2.0
"""The part of the zoo of hangs that is written in Python: answers one ping, then hangs as its first argument says."""

import asyncio
import concurrent.futures
import ctypes
import fcntl
import hashlib
import http.client
import multiprocessing
import os
import queue
import re
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time

channel = socket.socket(fileno=int(os.environ["WATCHDOG_CHANNEL"]))


def worker(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def output_not_read():
    subprocess.Popen(["seq", "1000000"], stdout=subprocess.PIPE).wait()


def lock_of_reader():
    lock = threading.Lock()
    started = threading.Event()

    def fetch_rates():
        listener = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(listener.getsockname())
        with lock:
            started.set()
            client.recv(1)

    worker(fetch_rates)
    started.wait()
    lock.acquire()


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


def semaphore_acquire():
    threading.Semaphore(0).acquire()


def condition_wait():
    condition = threading.Condition()
    with condition:
        condition.wait()


def barrier_wait():
    threading.Barrier(2).wait()


def two_locks():
    """Two threads, each with the lock that the other one wants."""
    first, second, has_second = threading.Lock(), threading.Lock(), threading.Event()

    def rival():
        with second:
            has_second.set()
            with first:
                pass

    with first:
        worker(rival)
        has_second.wait()
        with second:
            pass


def thread_join():
    thread = threading.Thread(target=time.sleep, args=[1000], daemon=True)
    thread.start()
    thread.join()


def future_result():
    executor = concurrent.futures.ThreadPoolExecutor(1)
    executor.submit(time.sleep, 1000).result()


def coroutine_sleeps():
    async def handler():
        time.sleep(1000)

    asyncio.run(handler())


def coroutine_waits():
    async def handler():
        await asyncio.get_running_loop().create_future()

    asyncio.run(handler())


def process_queue():
    multiprocessing.Queue().get()


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def fetch_report(*_):
    silent = silent_listener()
    connection = socket.create_connection(silent.getsockname())
    connection.recv(1)


def hold_ledger(lock, ready):
    die_with_parent()
    lock.acquire()
    ready.set()
    fetch_report()


def process_lock():
    lock, ready = multiprocessing.Lock(), multiprocessing.Event()
    multiprocessing.Process(target=hold_ledger, args=(lock, ready), daemon=True).start()
    ready.wait()
    with lock:
        pass


def process_pool():
    pool = multiprocessing.Pool(2, die_with_parent)
    pool.map(fetch_report, [1])


def process_executor():
    executor = concurrent.futures.ProcessPoolExecutor(2, initializer=die_with_parent)
    executor.submit(fetch_report).result()


def thread_executor():
    executor = concurrent.futures.ThreadPoolExecutor(2)
    # An idle worker besides.
    executor.submit(time.sleep, 0.01)
    executor.submit(fetch_report).result()


def process_join():
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=[1000], daemon=True)
    process.start()
    process.join()


def command_output():
    subprocess.run(["sleep", "1000"], capture_output=True)


def silent_listener():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.listen(8)
    return listener


def http_request():
    listener = silent_listener()
    connection = http.client.HTTPConnection(*listener.getsockname())
    connection.request("GET", "/")
    connection.getresponse()


def tls_handshake():
    listener = silent_listener()
    context = ssl.create_default_context()
    context.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost")


def accept_connection():
    silent_listener().accept()


def poll_forever():
    ends = os.pipe()
    poll = select.poll()
    poll.register(ends[0], select.POLLIN)
    poll.poll()


def open_fifo():
    os.mkfifo("zoo.fifo")
    open("zoo.fifo")


def signal_pause():
    signal.pause()


def wait_for_child():
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        time.sleep(1000)
    os.waitpid(child, 0)


def spin_hashing():
    hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 2_000_000_000)


def spin_sorting():
    while True:
        sorted(range(100_000), key=lambda number: -number)


def spin_query():
    sqlite3.connect(":memory:").execute(
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n").fetchall()


def spin_recursion():
    def fibonacci(number):
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    fibonacci(100)


fields = None
channel.send(f"HELLO=1\nPID={os.getpid()}".encode())
channel.send(b"READY=1")
while not fields or "PING" not in fields:
    fields = dict(line.split("=", 1) for line in channel.recv(4096).decode().splitlines())
channel.send(f"PONG={fields['PING']}".encode())
globals()[sys.argv[1]]()
