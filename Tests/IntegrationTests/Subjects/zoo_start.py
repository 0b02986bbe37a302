# SPDX-License-Identifier: Apache-2.0
"""How programs that other people wrote are started and brought to hang."""

import glob
import os
import pwd
import shutil
import subprocess
import time

CHILDREN = []


class Skip(Exception):
    pass


def program(name, *folders):
    path = shutil.which(name, path=":".join([*folders, os.environ["PATH"]]))
    if not path:
        raise Skip(f"{name} is not installed")
    return path


def start(*command, **options):
    child = subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, **options})
    CHILDREN.append(child)
    return child


def eventually(what, condition):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise RuntimeError(f"waited too long for {what}")


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


def title(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()
