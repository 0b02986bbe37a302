# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes, and programs that start others: servers with workers, pipelines, wrappers, and the first
process of a container. Each function is one of zoo_programs.KINDS, and returns the process id of the one that a supervisor
would have started, once the one that is stuck hangs."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import time

import zoo_start
from zoo_programs import (
    CLOCK_NANOSLEEP, EPOLL_WAIT, FCNTL, FLOCK, OPENAT, READ, RECVFROM, SILENT, WRITE, blocked, blocked_writer, computing, fifo,
    kind, open_pipe)
from zoo_start import Skip, eventually, program, sleeps_in, start

KEPT = []
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ


def descendants(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return [found for child in children for found in (child, *descendants(child))]


def is_stuck(pid, calls):
    try:
        return sleeps_in(pid, *calls)
    except OSError:
        return False


def wait_for_stuck(pid, *calls):
    """Waits until a process below this one is in one of the calls, and has settled there."""
    for _ in range(5):
        eventually("a stuck process", lambda: any(is_stuck(child, calls) for child in descendants(pid)))
        time.sleep(0.05)
    return pid


def wrapping(command, *calls, **options):
    """Starts a command that starts another one, which is then in one of the calls."""
    quiet = {"stdout": SILENT, "stderr": SILENT}
    return wait_for_stuck(start(program(command[0]), *command[1:], **{**quiet, **options}).pid, *calls)


def locked(name="lock"):
    """A file that another program has locked for good."""
    start(program("flock"), name, "sleep", "1000", stdout=SILENT)

    def is_locked():
        with open(name, "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    eventually("the lock", is_locked)
    return name


def connect(path):
    """A connection to a server, as soon as there is one."""
    client = socket.socket(socket.AF_UNIX)
    eventually("the server", lambda: client.connect_ex(path) == 0)
    KEPT.append(client)
    return client


# Servers


def gunicorn(application, workers, *calls):
    with open("app.py", "w") as file:
        file.write(application)
    pid = start(
        program("gunicorn"), "-w", str(workers), "-b", "unix:web.sock", "-t", "1000", "--worker-tmp-dir", ".", "app", stdout=SILENT,
        stderr=SILENT).pid
    eventually("the workers", lambda: len(descendants(pid)) == workers)
    connect("web.sock").sendall(b"GET / HTTP/1.0\r\n\r\n")
    return wait_for_stuck(pid, *calls)


@kind
def gunicorn_worker_lock():
    """The only worker waits for a file that another program has locked."""
    locked("cache.lock")
    return gunicorn(
        """
import fcntl

def open_cache():
    with open("cache.lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

def application(environ, start_response):
    open_cache()
""", 1, FLOCK)


@kind
def gunicorn_worker_sleeps():
    """One of three workers has a request and sleeps; the others could take another one."""
    return gunicorn(
        """
import time

def wait_for_stock():
    time.sleep(1000)

def application(environ, start_response):
    wait_for_stock()
""", 3, CLOCK_NANOSLEEP)


@kind
def probed_gunicorn_reads():
    """The only worker reads a pipe into which nobody writes."""
    return gunicorn(
        """
import os

def read_feed():
    reader, writer = os.pipe()
    os.read(reader, 1)

def application(environ, start_response):
    read_feed()
""", 1, READ)


def probed_preforking(deed):
    """A master and a worker that share their socket; the worker does this once it has answered a client."""
    code = f"""
import os, signal, socket

def read_feed():
    reader, writer = os.pipe()
    os.read(reader, 1)

def compute_primes():
    while True:
        pass

def stand_still():
    os.kill(os.getpid(), signal.SIGSTOP)

def reap_workers():
    while True:
        os.wait()

listener = socket.socket(socket.AF_UNIX)
listener.bind("web.sock")
listener.listen(16)
if os.fork() == 0:
    listener.accept()[0].close()
    open("hanging", "w").close()
    {deed}()
    os._exit(0)
reap_workers()
"""
    pid = start(sys.executable, "-c", code).pid
    connect("web.sock")
    eventually("the hang", lambda: os.path.exists("hanging"))
    return pid


@kind
def probed_preforking_reads():
    """The only worker reads a pipe into which nobody writes."""
    return wait_for_stuck(probed_preforking("read_feed"), READ)


@kind
def probed_preforking_spins():
    """The only worker computes."""
    return probed_preforking("compute_primes")


@kind
def probed_preforking_stopped():
    """The only worker is stopped."""
    pid = probed_preforking("stand_still")
    eventually("the stop", lambda: all(zoo_start.state(child) == "T" for child in descendants(pid)))
    return pid


@kind
def preforking_worker_reads():
    """A master reaps its workers; one has a connection over which no request comes, the others wait for connections."""
    code = """
import os, socket

def read_request(connection):
    connection.recv(4096)

def serve(listener):
    connection = listener.accept()[0]
    with open("/proc/self/comm", "w") as file:
        file.write("serving")
    read_request(connection)

def reap_workers():
    while True:
        os.wait()

listener = socket.create_server(("127.0.0.1", 0))
with open("new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename("new", "port")
for _ in range(3):
    if os.fork() == 0:
        serve(listener)
        os._exit(0)
reap_workers()
"""
    pid = start(sys.executable, "-c", code).pid
    eventually("the workers", lambda: os.path.exists("port") and len(descendants(pid)) == 3)
    with open("port") as file:
        KEPT.append(socket.create_connection(("127.0.0.1", int(file.read()))))
    return wait_for_stuck(pid, RECVFROM)


def tree(*arguments):
    """The command that runs tree.c."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree.c")
    subprocess.run(
        [program("cc"), "-O1", "-g", "-fno-optimize-sibling-calls", "-o", "tree", source], check=True, stderr=SILENT)
    return [os.path.abspath("tree"), *arguments]


@kind
def preforking_accept_lock():
    """A worker reads a request that never comes, and still has the lock for which the other one waits."""
    pid = start(*tree("server", "web.sock")).pid
    connect("web.sock")
    wait_for_stuck(pid, READ)
    return wait_for_stuck(pid, FCNTL)


@kind
def nginx_worker_log_pipe():
    """What reads its access log has stopped to read."""
    nginx = program("nginx", "/usr/sbin")
    features = subprocess.run([nginx, "-V"], capture_output=True, text=True).stderr
    modules = ["proxy", "fastcgi", "uwsgi", "scgi"]
    folders = ["client_body_temp_path temp;"] + [
        f"{name}_temp_path temp;" for name in modules if f"--without-http_{name}_module" not in features]
    reader = os.open(fifo("access.log"), os.O_RDWR)
    fcntl.fcntl(reader, SET_PIPE_SIZE, 4096)
    with open("nginx.conf", "w") as file:
        file.write(f"""
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            error_log /dev/null;
            events {{ }}
            http {{
                access_log access.log;
                {' '.join(folders)}
                server {{ listen unix:web.sock; return 204; }}
            }}
        """)
    pid = start(nginx, "-p", os.getcwd(), "-c", "nginx.conf", "-e", "/dev/null", stdout=SILENT, stderr=SILENT).pid
    eventually("the worker", lambda: len(descendants(pid)) == 1)
    request = b"GET / HTTP/1.1\r\nHost: zoo\r\nUser-Agent: " + b"x" * 2000 + b"\r\n\r\n"
    connect("web.sock").sendall(request * 8)
    return wait_for_stuck(pid, WRITE)


@kind
def probed_nginx_log_pipe():
    """The same, and a probe."""
    return nginx_worker_log_pipe()


@kind
def php_fpm_worker_reads():
    """A worker reads a FIFO into which nobody writes, while the master waits for events."""
    servers = sorted(name for name in os.listdir("/usr/sbin") if name.startswith("php-fpm"))
    fpm = program(servers[0] if servers else "php-fpm", "/usr/sbin")
    with open("pool.conf", "w") as file:
        # A section begins at the beginning of its line.
        lines = [
            "[global]", "error_log = /dev/null", "daemonize = no", "[www]", f"listen = {os.getcwd()}/web.sock",
            "pm = static", "pm.max_children = 1"]
        file.write("\n".join(lines + (["user = nobody"] if os.geteuid() == 0 else [])) + "\n")
    os.mkfifo("feed", 0o666)
    os.chmod("feed", 0o666)
    os.chmod(".", 0o755)
    with open("page.php", "w") as file:
        file.write("<?php function read_feed() { return fopen('feed', 'r'); } read_feed();")
    options = ["--allow-to-run-as-root"] if os.geteuid() == 0 else []
    pid = start(fpm, "-y", "pool.conf", "-F", *options, stdout=SILENT, stderr=SILENT).pid
    connect("web.sock").sendall(fast_cgi({"SCRIPT_FILENAME": f"{os.getcwd()}/page.php", "REQUEST_METHOD": "GET"}))
    return wait_for_stuck(pid, OPENAT)


def fast_cgi(parameters):
    """A request in the protocol of FastCGI 1.0: its beginning, its parameters, and no body."""
    def record(kind, content):
        return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content

    pairs = b"".join(
        bytes([len(name), len(value)]) + name.encode() + value.encode() for name, value in parameters.items())
    return record(1, struct.pack(">HB5x", 1, 0)) + record(4, pairs) + record(4, b"") + record(5, b"")


@kind
def postgres_postmaster():
    """A session waits for a row that another one has locked, while the postmaster waits for clients."""
    session = zoo_start.postgres()
    first = session(
        "create table t (a int)", "insert into t values (1)", "begin", "update t set a = 2", "select pg_sleep(1000)")
    eventually("the first transaction", lambda: b"SELECT" in zoo_start.title(first))
    second = session("update t set a = 3")
    eventually("its wait", lambda: b"waiting" in zoo_start.title(second) and is_stuck(second, [EPOLL_WAIT]))
    return zoo_start.CHILDREN[0].pid


@kind
def node_cluster_worker_spins():
    """The primary process of a cluster waits for messages of its worker, which computes."""
    code = """
        const cluster = require('cluster');
        function computePrimes() { for (let n = 0; ; n++) Math.sqrt(n); }
        if (cluster.isPrimary) cluster.fork(); else setTimeout(computePrimes, 100);
    """
    with open("server.js", "w") as file:
        file.write(code)
    pid = start(program("node"), "server.js").pid

    def computes():
        for child in descendants(pid):
            with open(f"/proc/{child}/schedstat") as file:
                # Its start takes less.
                return int(file.read().split()[0]) > 1_000_000_000
        return False

    eventually("its computing", computes)
    return pid


# Pipelines


@kind
def pipeline_consumer_stuck():
    """The producer writes into a pipe whose reader waits for a lock."""
    locked()
    return wrapping(["sh", "-c", "seq 1 1000000000 | flock lock cat; true"], WRITE)


@kind
def pipeline_producer_stuck():
    """The consumer waits for what the producer would write, which waits for somebody who opens a FIFO."""
    return wrapping(["bash", "-c", f"cat {fifo()} | sort; true"], OPENAT)


# Wrappers that wait for the program


@kind
def timeout_wraps_a_lock():
    return wrapping(["timeout", "60", "flock", locked(), "true"], FLOCK)


@kind
def flock_wraps_a_program():
    return wrapping(["flock", "lock", "cat", fifo()], OPENAT)


@kind
def setsid_wraps_a_program():
    return wrapping(["setsid", "--fork", "--wait", "cat", fifo()], OPENAT)


@kind
def script_wraps_a_program():
    """The program has a terminal of its own."""
    return wrapping(["script", "-q", "-c", f"exec cat {fifo()}", "/dev/null"], OPENAT, stdin=open_pipe())


@kind
def bash_traps_and_waits():
    """The entry point of many a container: what it starts gets the signals that it is sent."""
    return wrapping(["bash", "-c", f"cat {fifo()} & trap 'kill $!' TERM; wait $!"], OPENAT)


@kind
def dash_traps_and_waits():
    return wrapping(["dash", "-c", f"cat {fifo()} & trap 'kill $!' TERM; wait $!"], OPENAT)


def public(name):
    """A FIFO that every user can reach."""
    os.chmod(".", 0o755)
    return os.path.abspath(fifo(name))


@kind
def su_wraps_a_program():
    if subprocess.run([program("su"), "-s", "/bin/sh", "nobody", "-c", "true"], capture_output=True).returncode != 0:
        raise Skip("su refuses to become nobody")
    return wrapping(["su", "-s", "/bin/sh", "nobody", "-c", f"exec cat {public('fifo')}"], OPENAT)


@kind
def sudo_wraps_a_program():
    sudo = [program("sudo"), "-n", "-u", "nobody"]
    if subprocess.run([*sudo, "true"], capture_output=True).returncode != 0:
        raise Skip("sudo refuses to become nobody")
    return wrapping([*sudo, "cat", public("fifo")], OPENAT)


# The first process of a container


@kind
def init_waits_for_signals():
    return wrapping(tree("init", "cat", fifo()), OPENAT)


@kind
def init_with_zombies():
    """It never reaps the orphans that it has inherited, and waits for its program."""
    return wrapping(tree("zombies", "cat", fifo()), OPENAT)


@kind
def init_of_a_namespace():
    """The program's process ids are not those of the machine."""
    if subprocess.run([program("unshare"), "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        raise Skip("there are no pid namespaces here")
    return wrapping(["unshare", "--pid", "--fork", *tree("reaper", "cat", fifo())], OPENAT)


@kind
def catatonit_waits_for_its_program():
    return wrapping(["catatonit", "--", "cat", fifo()], OPENAT)


# Wrappers that become the program


@kind
def setpriv_becomes_a_program():
    """As another user."""
    user = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    return blocked(["setpriv", *user, "cat", public("fifo")], OPENAT)


@kind
def env_becomes_a_program():
    """Without any variable."""
    code = """
import fcntl

def open_library(name):
    with open(name, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

open_library("lock")
"""
    locked()
    return blocked(["env", "-i", sys.executable, "-c", code], FLOCK)


@kind
def nice_becomes_a_program():
    return computing(["nice", "-n", "10", "xz", "-9", "-T1", "-c", "/dev/urandom"])


@kind
def nohup_becomes_a_program():
    return blocked_writer(["nohup", "seq", "1", "1000000000"], os.pipe()[1])


@kind
def stdbuf_becomes_a_program():
    """With a library that was loaded before its own."""
    return blocked(["stdbuf", "-o0", "tr", "a", "b"], READ, stdin=open_pipe())
