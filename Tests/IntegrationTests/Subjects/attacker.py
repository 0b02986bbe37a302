# SPDX-License-Identifier: Apache-2.0
"""A user without rights who wants in: attacker.py ATTACK SECONDS [ARGUMENT...]; says what worked, and how often it tried."""
import ctypes, errno, os, resource, signal, socket, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
PROCESS_VM_READV, PIDFD_OPEN, PIDFD_GETFD = 310, 434, 438


def name(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def memory(pid):
    os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))


def reading(file):
    def read(pid):
        with open(f"/proc/{pid}/{file}", "rb") as opened:
            # A process that has ended has an empty one.
            if not opened.read(1):
                raise OSError("empty")
    return read


def descriptors(pid):
    os.listdir(f"/proc/{pid}/fd")


def trace(pid):
    check(libc.ptrace(PTRACE_SEIZE, pid, None, None))
    libc.ptrace(PTRACE_DETACH, pid, None, None)


def borrow(pid):
    process = check(libc.syscall(PIDFD_OPEN, pid, 0))
    try:
        os.close(check(libc.syscall(PIDFD_GETFD, process, 3, 0)))
    finally:
        os.close(process)


def interrupt(pid):
    os.kill(pid, signal.SIGCONT)


def limit(pid):
    resource.prlimit(pid, resource.RLIMIT_CPU)


def stranger(attack):
    """A process that has this user already may be signaled and limited: it is about to execute the user's program."""
    def perform(pid):
        with open(f"/proc/{pid}/status") as status:
            if f"Uid:\t{os.getuid()}\t" in status.read():
                raise OSError("one of ours")
        attack(pid)
    return perform


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def look(seconds, has_apps):
    """Tries each process of watchdogd, at every moment of its life; has_apps: whether apps run as this user."""
    own = stranger if has_apps == "yes" else lambda attack: attack
    attacks = {"mem": memory, "environ": reading("environ"), "maps": reading("maps"), "auxv": reading("auxv"),
               "fd": descriptors, "trace": trace, "getfd": borrow, "signal": own(interrupt),
               "limit": own(limit)}
    tried, seen = 0, set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for pid in [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]:
            for attack, perform in attacks.items():
                try:
                    before = name(pid)
                    if not before.startswith(("watchdogd", "wd-")):
                        break
                    tried += 1
                    seen.add(before)
                    perform(pid)
                except OSError:
                    continue
                try:
                    # Programs that have been executed meanwhile are the user's own.
                    if name(pid) == before:
                        print(f"BREACH: {attack} of {before}", flush=True)
                except OSError:
                    pass
    print(f"tried {tried} on {' '.join(sorted(seen))}", flush=True)


def connect(seconds, path):
    """Ten thousand connections, as many at once as there is room for."""
    count, callers = 0, []
    end = time.monotonic() + seconds
    while count < 10000 and time.monotonic() < end:
        caller = socket.socket(socket.AF_UNIX)
        caller.setblocking(False)
        try:
            caller.connect(path)
            caller.send(b'{"method":"org.watchdogd.Supervisor.List"')
            count += 1
        except OSError:
            time.sleep(0.001)
        callers = (callers + [caller])[-500:]
    print(f"connected {count}", flush=True)


def pass_messages(seconds, path):
    pass_descriptors(seconds, path, socket.SOCK_DGRAM)


def pass_descriptors(seconds, path, kind=socket.SOCK_STREAM):
    """Messages with as many descriptors as fit, some of which take long to close."""
    lingering = []
    for _ in range(8):
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
        client.setblocking(False)
        try:
            while True:
                client.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        lingering += [server, client]
    files = [entry.fileno() for entry in lingering] + [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    count, refusals = 0, set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with socket.socket(socket.AF_UNIX, kind) as sender:
                sender.settimeout(0.1)
                sender.connect(path)
                socket.send_fds(sender, [b"WATCHDOG=1\n"], files)
                count += 1
        except OSError as error:
            refusals.add(error.errno)
            time.sleep(0.001)
    print(f"passed {count}; refused: {sorted(refusals)}", flush=True)
    # Python would close the sockets, and wait for those that linger.
    os._exit(0)


def pass_files(seconds, path, name):
    """Messages with a file that nobody can close, and so no process can end that has it, until its file system ends."""
    file = os.open(name, os.O_RDONLY)
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.connect(path)
    sender.settimeout(1)
    # Four are taken; then the socket is full after as many as net.unix.max_dgram_qlen says.
    passed = 0
    try:
        while passed < 20:
            socket.send_fds(sender, [b"WATCHDOG=1\n"], [file])
            passed += 1
    except (BlockingIOError, TimeoutError):
        pass
    print("passed", passed, flush=True)
    time.sleep(seconds)


def exchange(seconds, home, outside):
    """Exchanges a folder and a link to root's, and a file in it and a link to root's, as often as it can."""
    os.chdir(home)
    os.symlink(outside, "link")
    folder = os.open("logs", os.O_RDONLY)
    os.symlink(f"{outside}/out", "trap", dir_fd=folder)
    here, exchanging = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    count = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check(libc.renameat2(here, b"link", here, b"logs", exchanging))
        if count % 5 == 0:
            check(libc.renameat2(folder, b"out", folder, b"trap", exchanging))
        count += 1
    print(f"exchanged {count} times", flush=True)


def fill(seconds, path):
    """Takes all the room of a disk."""
    end = time.monotonic() + seconds
    with open(path, "wb", buffering=0) as file:
        while time.monotonic() < end:
            try:
                file.write(bytes(4096))
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    print("full", flush=True)
                    return
                raise


globals()[sys.argv[1]](float(sys.argv[2]), *(sys.argv[3:] or [None]))
