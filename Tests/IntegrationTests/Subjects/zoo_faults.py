# SPDX-License-Identifier: Apache-2.0
"""The part of the zoo of hangs that hangs only because of an injected fault: answers pings on its main thread, and between two of
them does what its first argument says. Without the fault, each deed is over at once."""

import errno
import mmap
import os
import socket
import sys
import time
import urllib.request

from wd import channel


def read_archive(path):
    """Reads a file past the page cache."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        print(f"skip: {path} cannot be read past the page cache: {error}", flush=True)
        sys.exit(3)
    block = mmap.mmap(-1, 128 << 10)
    while os.readv(file, [block]):
        pass
    os.close(file)


def save_draft(folder):
    """Does not take no for an answer."""
    with open(folder + "/draft", "wb", buffering=0) as draft:
        while True:
            try:
                draft.write(b"x" * 65536)
                draft.truncate(0)
                return
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            time.sleep(0.01)


def load_page(address):
    urllib.request.urlopen(f"http://{address}/").read()


def look_up(name):
    try:
        socket.getaddrinfo(name, 80)
    except OSError:
        pass


def cache_pictures(size):
    """Keeps what it reads."""
    return bytearray(int(size))


def add_numbers():
    """Computes for a few tenths of a second."""
    return sum(range(20_000_000))


def do_nothing():
    pass


connection = channel()
connection.send(f"HELLO=1\nPID={os.getpid()}".encode())
connection.send(b"READY=1")
try:
    while message := connection.recv(4096):
        fields = dict(line.split("=", 1) for line in message.decode().splitlines() if "=" in line)
        if "PING" in fields:
            connection.send(f"PONG={fields['PING']}".encode())
            globals()[sys.argv[1]](*sys.argv[2:])
except (BrokenPipeError, ConnectionResetError):
    # It was killed before it had read what was sent.
    pass
# Nobody supervises it any more.
open(os.environ["ZOO_ENDED"], "w").close()
