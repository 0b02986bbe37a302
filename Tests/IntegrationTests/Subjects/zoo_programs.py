# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian as they come, each of which hangs in a way of its own: KINDS has a function for each, which starts the
program, and returns its process id once it hangs."""

import os
import socket
import subprocess
import time

import zoo_start
from zoo_start import eventually, program, sleeps_in, start, state

SILENT = subprocess.DEVNULL
KINDS = {}

# System calls by their numbers on this architecture: x86-64.
READ, WRITE, POLL, SELECT, WAIT4, FLOCK, FCNTL, SIGSUSPEND, NANOSLEEP = 0, 1, 7, 23, 61, 73, 72, 130, 35
CLOCK_NANOSLEEP, OPENAT, PSELECT, PPOLL, FUTEX, EPOLL_WAIT, EPOLL_PWAIT, WAITID = 230, 257, 270, 271, 202, 232, 281, 247
RECVFROM, RECVMSG, NEWFSTATAT, STATX = 45, 47, 262, 332


def kind(function):
    KINDS[function.__name__] = function
    return function


def blocked(command, *calls, **options):
    """Starts a command, and waits until it is in one of the calls."""
    pid = start(program(command[0]), *command[1:], stdout=SILENT, stderr=SILENT, **options).pid
    eventually(f"its call, not {read(pid)}", lambda: sleeps_in(pid, *calls))
    # It may pass through the call on its way.
    for _ in range(5):
        time.sleep(0.02)
        eventually("its call again", lambda: sleeps_in(pid, *calls))
    return pid


def read(pid):
    with open(f"/proc/{pid}/syscall") as file:
        return file.read().strip()


def computing(command, **options):
    """Starts a command that computes, and waits until it has done so for a while."""
    pid = start(program(command[0]), *command[1:], stdout=SILENT, stderr=SILENT, **options).pid

    def ran():
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[0]) > 200_000_000

    eventually("its computing", ran)
    return pid


def open_pipe():
    """The reading end of a pipe into which nobody writes."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, False)
    return reader


def fifo(name="fifo"):
    os.mkfifo(name)
    return name


def silent_port():
    """A server that accepts connections and says nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.listen(8)
    silent_port.kept.append(listener)
    return listener.getsockname()[1]


silent_port.kept = []


def from_pipe(name, *arguments, calls=(READ,)):
    def hang():
        return blocked([name, *arguments], *calls, stdin=open_pipe())

    hang.__name__ = f"{name.replace('-', '_')}_reads_a_pipe"
    kind(hang)


for name, *arguments in [
    ("cat",), ("sort",), ("wc",), ("head",), ("tee",), ("od",), ("cut", "-c1"), ("uniq",), ("tr", "a", "b"), ("md5sum",),
    ("grep", "x"), ("sed", "s/a/b/"), ("mawk", "{print}"), ("gzip", "-c"), ("xz", "-c"), ("xargs", "echo"), ("patch",),
    ("bash",), ("dash",), ("perl", "-ne", "print"), ("openssl", "sha256"), ("jq", "."), ("file", "-"),
    ("iconv", "-f", "utf8", "-t", "latin1"), ("tar", "x"), ("make", "-f", "-"), ("dd", "of=/dev/null"),
    ("sqlite3", ":memory:"), ("gdb", "-q", "-nx"), ("bzip2", "-c"),
]:
    from_pipe(name, *arguments, calls=(READ, POLL, PPOLL, SELECT, PSELECT))


@kind
def cat_opens_a_fifo():
    return blocked(["cat", fifo()], OPENAT)


@kind
def bash_opens_a_fifo():
    return blocked(["bash", "-c", f"read line < {fifo()}; exit $line"], OPENAT)


@kind
def tail_follows():
    open("log", "w").close()
    return blocked(["tail", "-f", "log"], READ, POLL)


@kind
def cat_writes_to_a_full_pipe():
    reader, writer = os.pipe()
    return blocked_writer(["cat", "/dev/zero"], writer)


def blocked_writer(command, output):
    pid = start(program(command[0]), *command[1:], stdout=output, stderr=SILENT).pid
    eventually("its write", lambda: sleeps_in(pid, WRITE))
    return pid


@kind
def seq_writes_to_a_full_pipe():
    return blocked_writer(["seq", "1", "1000000000"], os.pipe()[1])


@kind
def sleep_sleeps():
    return blocked(["sleep", "1000"], CLOCK_NANOSLEEP)


@kind
def timeout_waits():
    return blocked(["timeout", "1000", "sleep", "1000"], SIGSUSPEND, WAIT4)


@kind
def flock_waits():
    start(program("flock"), "lock", "sleep", "1000", stdout=SILENT)
    eventually("the lock", lambda: os.path.exists("lock"))
    time.sleep(0.1)
    return blocked(["flock", "lock", "true"], FLOCK)


@kind
def bash_waits_for_its_child():
    return blocked(["bash", "-c", "sleep 1000; true"], WAIT4)


@kind
def dash_waits_for_its_child():
    return blocked(["dash", "-c", "sleep 1000; true"], WAIT4)


@kind
def make_waits_for_its_child():
    with open("Makefile", "w") as file:
        file.write("all:\n\t@sleep 1000\n")
    return blocked(["make"], WAIT4, PSELECT)


@kind
def xargs_waits_for_its_child():
    with open("list", "w") as file:
        file.write("1000\n")
    return blocked(["xargs", "sleep"], WAIT4, stdin=open("list"))


@kind
def find_waits_for_its_child():
    return blocked(["find", ".", "-maxdepth", "0", "-exec", "sleep", "1000", ";"], WAIT4)


@kind
def perl_waits_for_its_child():
    return blocked(["perl", "-e", "system 'sleep', 1000"], WAIT4)


@kind
def git_waits_for_its_editor():
    subprocess.run([program("git"), "init", "-q", "."], check=True)
    environment = {**os.environ, "GIT_EDITOR": "sleep 1000;:", "GIT_AUTHOR_NAME": "z", "GIT_AUTHOR_EMAIL": "z@z",
                   "GIT_COMMITTER_NAME": "z", "GIT_COMMITTER_EMAIL": "z@z"}
    return blocked(["git", "commit", "--allow-empty"], WAIT4, env=environment)


@kind
def gcc_waits_for_its_compiler():
    return blocked(["gcc", "-x", "c", "-c", fifo("source.c"), "-o", "/dev/null"], WAIT4)


@kind
def strace_waits():
    return blocked(["strace", "-o", "/dev/null", "sleep", "1000"], WAIT4)


@kind
def curl_waits_for_an_answer():
    return blocked(["curl", "-s", f"http://127.0.0.1:{silent_port()}/"], POLL)


@kind
def git_waits_for_a_server():
    return blocked(["git", "ls-remote", f"git://127.0.0.1:{silent_port()}/x"], READ)


@kind
def openssl_waits_for_a_handshake():
    return blocked(["openssl", "s_client", "-connect", f"127.0.0.1:{silent_port()}"], READ, stdin=open_pipe())


@kind
def bash_waits_for_a_server():
    return blocked(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{silent_port()}; read line <&3; exit $line"], READ)


@kind
def perl_accepts():
    code = "use IO::Socket::INET; IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')->accept"
    return blocked(["perl", "-e", code], 43, 288)


@kind
def socat_relays():
    return blocked(["socat", "-", f"TCP:127.0.0.1:{silent_port()}"], POLL, SELECT, PSELECT, stdin=open_pipe())


@kind
def redis_cli_subscribes():
    zoo_start.redis()
    return blocked(["redis-cli", "-s", "redis.sock", "subscribe", "news"], READ, POLL, RECVFROM)


@kind
def psql_waits_for_a_lock():
    command = []
    session = zoo_start.postgres(command)
    first = session("create table t (a int)", "begin", "lock table t", "select pg_sleep(1000)")
    eventually("the lock", lambda: b"SELECT" in zoo_start.title(first))
    return blocked([*command, "-c", "select * from t"], POLL, PPOLL)


@kind
def sqlite3_waits_for_a_database():
    import sqlite3

    writer = sqlite3.connect("zoo.db", isolation_level=None)
    writer.execute("create table t (a)")
    writer.execute("begin exclusive")
    silent_port.kept.append(writer)
    return blocked(["sqlite3", "-cmd", ".timeout 1000000", "zoo.db", "insert into t values (1)"],
                   NANOSLEEP, CLOCK_NANOSLEEP)


@kind
def perl_sleeps():
    return blocked(["perl", "-e", "sleep 1000"], CLOCK_NANOSLEEP)


@kind
def perl_locks():
    start(program("flock"), "lock", "sleep", "1000", stdout=SILENT)
    eventually("the lock", lambda: os.path.exists("lock"))
    time.sleep(0.1)
    return blocked(["perl", "-e", "open F, '>lock'; flock F, 2"], FLOCK)


@kind
def perl_spins():
    return computing(["perl", "-e", "1 while 1"])


@kind
def perl_matches():
    return computing(["perl", "-e", "'" + "a" * 64 + "b' =~ /^(a|aa)+\\1$/ while 1"])


@kind
def bash_spins():
    return computing(["bash", "-c", "while :; do :; done"])


@kind
def dash_spins():
    return computing(["dash", "-c", "while :; do :; done"])


@kind
def mawk_spins():
    return computing(["mawk", "BEGIN { while (1) n++ }"])


@kind
def sed_spins():
    return computing(["sed", ":a; ba"], stdin=open("/etc/passwd"))


@kind
def jq_spins():
    return computing(["jq", "-n", "[range(1e12)] | length"])


@kind
def xz_compresses():
    return computing(["xz", "-9", "-T1", "-c", "/dev/zero"])


@kind
def gzip_compresses():
    return computing(["gzip", "-9", "-c"], stdin=open("/dev/zero"))


@kind
def bzip2_compresses():
    # Zeros are compressed faster than they are read.
    return computing(["bzip2", "-c"], stdin=open("/dev/urandom"))


@kind
def openssl_computes():
    return computing(["openssl", "speed", "-seconds", "1000", "-bytes", "1024", "sha256"])


@kind
def sha256sum_computes():
    return computing(["sha256sum", "/dev/zero"])


@kind
def sqlite3_queries():
    query = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    return computing(["sqlite3", ":memory:", query])


@kind
def vim_spins():
    return computing(["vim", "-u", "NONE", "-es", "-c", "while 1 | endwhile"])


@kind
def zsh_spins():
    return computing(["zsh", "-fc", "while :; do :; done"])


@kind
def fish_spins():
    return computing(["fish", "--no-config", "-c", "while true; end"])


@kind
def cc1_compiles():
    code = "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\nvoid f(int);void g(void){B(B(f(1);))}\n"
    with open("source.c", "w") as file:
        file.write(code)
    cc1 = subprocess.run([program("gcc"), "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    return computing([cc1, "-quiet", "-O2", "source.c", "-o", "/dev/null"])
