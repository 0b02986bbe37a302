# SPDX-License-Identifier: Apache-2.0
"""The part of the zoo of hangs that other people wrote: starts a real program, brings it to hang as its first argument
says, and then makes it the main process (`MAINPID=`), so that the report is about it.

Prints "skip: REASON" and exits with 3 where that cannot be had here.
"""

import os
import subprocess
import sys
import time

import zoo_languages
import zoo_programs
import zoo_trees  # noqa: F401 (it adds kinds)
from wd import notify
from zoo_start import Skip, eventually, postgres, program, redis, sleeps_in, start, state, title

# redis-server


def redis_debug_sleep():
    pid, _, send = redis()
    send("debug", "sleep", "1000")
    eventually("its sleep", lambda: sleeps_in(pid, 35, 230))
    return pid


def redis_lua_script():
    # A script over its time limit serves its clients from time to time; one within it does not.
    pid, _, send = redis("--lua-time-limit", "0")
    send("eval", "local n = 0 while true do n = n + 1 end", "0")
    eventually("its script", lambda: state(pid) == "R")
    return pid


def redis_log_pipe():
    """Its log goes to a FIFO, which redis opens for each line, and whose reader is gone."""
    os.mkfifo("log")
    reader = os.open("log", os.O_RDWR)
    pid, _, send = redis("--logfile", "log")
    os.close(reader)
    send("config", "set", "loglevel", "debug")
    eventually("its open", lambda: sleeps_in(pid, 2, 257))
    return pid


def redis_idle():
    """Answers everybody; only watchdogd hears nothing of it."""
    pid, _, _ = redis()
    return pid


def redis_disk_write():
    """Its log, which it opens for each line, moves to a disk that does not answer."""
    slow_disk()
    os.symlink("fast", "log")
    pid, _, send = redis("--logfile", "log")
    os.symlink("disk/file", "slow")
    os.rename("slow", "log")
    send("config", "set", "loglevel", "debug")
    eventually("its write", lambda: sleeps_in(pid, 1))
    return pid


# A disk that does not answer


def slow_disk():
    import slow_disk as disk

    try:
        disk.mount("disk")
    except OSError as error:
        raise Skip(f"no file system of our own can be mounted: {error}")


def slow_disk_read():
    slow_disk()
    pid = start("cat", "disk/file", stdout=subprocess.DEVNULL).pid
    eventually("its read", lambda: state(pid) == "D")
    return pid


def slow_disk_sync():
    slow_disk()
    pid = start("sync", "disk/file").pid
    eventually("its sync", lambda: sleeps_in(pid, 74))
    return pid


# PostgreSQL


def postgres_row_lock():
    session = postgres()
    first = session("create table t (a int)", "insert into t values (1)", "begin", "update t set a = 2", "select pg_sleep(1000)")
    eventually("the first transaction", lambda: b"SELECT" in title(first))
    pid = session("update t set a = 3")
    eventually("its wait", lambda: b"waiting" in title(pid))
    return pid


def postgres_sleep():
    pid = postgres()("select pg_sleep(1000)")
    eventually("its sleep", lambda: b"SELECT" in title(pid))
    return pid


def postgres_client():
    """psql, which waits for the answer to a query that takes its time."""
    command = []
    postgres(command)
    pid = start(*command, "-c", "select pg_sleep(1000)").pid
    eventually("its wait", lambda: sleeps_in(pid, 7, 271))
    time.sleep(0.2)
    return pid


def postgres_query():
    # Loading LLVM would be another hang, on a disk that is busy.
    pid = postgres()("set jit = off; select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b")
    eventually("its query", lambda: state(pid) == "R")
    return pid


# Node


def node(script):
    child = start(program("node"), "-e", f"console.log('ready');\n{script}", stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    time.sleep(0.1)
    return child.pid


def node_loop():
    return node("function computePrimes() { for (let n = 0; ; n++) Math.sqrt(n) } computePrimes()")


def node_read_fifo():
    os.mkfifo("fifo")
    return node("const fs = require('fs'); fs.readSync(fs.openSync('fifo', 'r+'), Buffer.alloc(1))")


def node_atomics_wait():
    return node("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)")


def node_exec_sync():
    return node("require('child_process').execSync('sleep 1000')")


def node_regular_expression():
    return node("/^(a+)+$/.test('a'.repeat(64) + 'b')")


def node_idle():
    return node("setInterval(() => {}, 1000000)")


# Swift; the program's path comes as the second argument.


def swift(kind):
    child = start(sys.argv[2], kind, stdout=subprocess.PIPE, text=True)
    if child.stdout.readline() != "ready\n":
        raise RuntimeError("the program did not start")
    time.sleep(0.2)
    return child.pid


def main():
    kind = sys.argv[1]
    try:
        if kind.startswith("swift_"):
            pid = swift(kind[len("swift_"):])
        else:
            pid = (zoo_programs.KINDS.get(kind) or zoo_languages.find(kind) or globals()[kind])()
    except Skip as reason:
        print(f"skip: {reason}", flush=True)
        sys.exit(3)
    # A program that promises signs of life is not only killed for its probes.
    notify(f"MAINPID={pid}", "READY=1", *([] if "ZOO_PROBED" in os.environ else ["WATCHDOG=1"]))
    while True:
        time.sleep(1000)


main()
