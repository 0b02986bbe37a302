# SPDX-License-Identifier: Apache-2.0
"""The part of the zoo of hangs that other people wrote: starts a real program, brings it to hang as its first argument
says, and then makes it the main process (`MAINPID=`), so that the report is about it.

Prints "skip: REASON" and exits with 3 where that cannot be had here.
"""

import glob
import os
import pwd
import shutil
import subprocess
import sys
import time

from wd import notify

CHILDREN = []


class Skip(Exception):
    pass


def program(name, *folders):
    path = shutil.which(name, path=":".join([*folders, os.environ["PATH"]]))
    if not path:
        raise Skip(f"{name} is not installed")
    return path


def start(*command, **options):
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    CHILDREN.append(child)
    return child


def eventually(what, condition):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise RuntimeError(f"waited in vain for {what}")


def state(pid):
    """Of the main thread: proc_pid_stat(5), field 3."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def sleeps_in(pid, *calls):
    """True when the main thread is in one of these system calls, by number."""
    with open(f"/proc/{pid}/syscall") as file:
        return file.read().split()[0] in [str(call) for call in calls]


# redis-server


def redis(*options):
    """A server on a socket in this folder, and how to talk to it."""
    server = start(
        program("redis-server"), "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--daemonize", "no",
        "--enable-debug-command", "yes", *options, stdout=subprocess.DEVNULL)
    client = [program("redis-cli"), "-s", "redis.sock"]

    def ask(*words):
        return subprocess.run([*client, *words], capture_output=True, text=True).stdout.strip()

    eventually("redis", lambda: os.path.exists("redis.sock") and ask("ping") == "PONG")
    return server.pid, ask, lambda *words: start(*client, *words, stdout=subprocess.DEVNULL)


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


def postgres(client=None):
    """A cluster in this folder; returns how to open a session, and fills in a client's command line."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    initdb, server, psql = (program(name, *folders) for name in ("initdb", "postgres", "psql"))
    own = {}
    if os.geteuid() == 0:
        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            raise Skip("there is no user postgres")
        own = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    data = os.path.abspath("data")
    os.mkdir(data, 0o700)
    if own:
        os.chmod(".", 0o755)
        os.chown(data, own["user"], own["group"])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([initdb, "-A", "trust", "-N", "-U", "zoo", "-D", data], check=True, cwd=data, **own, **quiet)
    start(
        server, "-D", data, "-h", "", "-k", data, "-c", "dynamic_shared_memory_type=mmap", "-c", "fsync=off", "-c", "shared_buffers=1MB", cwd=data, **own, **quiet)
    command = [psql, "-X", "-q", "-A", "-t", "-h", data, "-U", "zoo", "postgres"]

    if client is not None:
        client += command

    def ready():
        return subprocess.run([*command, "-c", "select 1"], capture_output=True).returncode == 0

    eventually("postgres", ready)

    def session(*statements):
        """Runs the statements, and returns the process id of the backend when the last one has begun."""
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        CHILDREN.append(child)
        child.stdin.write("select pg_backend_pid();\n")
        pid = int(child.stdout.readline())
        for statement in statements:
            child.stdin.write(statement + ";\n")
        child.stdin.flush()
        return pid

    return session


def postgres_row_lock():
    session = postgres()
    first = session("create table t (a int)", "insert into t values (1)", "begin", "update t set a = 2", "select pg_sleep(1000)")
    eventually("the first transaction", lambda: b"SELECT" in title(first))
    pid = session("update t set a = 3")
    eventually("its wait", lambda: b"waiting" in title(pid))
    return pid


def title(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()


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
        pid = swift(kind[len("swift_"):]) if kind.startswith("swift_") else globals()[kind]()
    except Skip as reason:
        print(f"skip: {reason}", flush=True)
        sys.exit(3)
    notify(f"MAINPID={pid}", "READY=1", "WATCHDOG=1")
    while True:
        time.sleep(1000)


main()
