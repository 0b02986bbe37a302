# SPDX-License-Identifier: Apache-2.0
"""A disk that answers nothing about contents: a file system of the kernel's FUSE protocol, linux/fuse.h.

It has one file, `file`. Opening it works; whoever reads, writes or syncs it waits forever. Only the calling process and
its children see it, in a mount namespace of their own, and it ends with them.
"""

import ctypes
import os
import stat
import struct

SIZE = 1 << 20
HEADER = struct.Struct("<IIQQIIII")
INIT, LOOKUP, FORGET, GETATTR, SETATTR, OPEN, INTERRUPT, OPENDIR, FLUSH = 26, 1, 2, 3, 4, 14, 36, 27, 25
SILENT = {15, 16, 20}  # READ, WRITE, FSYNC
FOR_EVER = 1 << 30
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(folder):
    """Mounts it on a folder that it makes; OSError where that is not to be had."""
    os.mkdir(folder)
    check(libc.unshare(0x20000))  # CLONE_NEWNS
    check(libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None))  # MS_REC | MS_PRIVATE
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    check(libc.mount(b"slow", os.fsencode(folder), b"fuse.slow", 6, options.encode()))  # MS_NOSUID | MS_NODEV
    if os.fork() == 0:
        try:
            serve(device)
        finally:
            os._exit(0)
    os.close(device)


def attributes(node):
    mode = stat.S_IFDIR | 0o777 if node == 1 else stat.S_IFREG | 0o666
    return struct.pack("<6Q10I", node, SIZE, SIZE // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation, node, body):
    if operation == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 17, 1, 1, 1, 4096, 1, 0, 0, *[0] * 8)
    if operation == LOOKUP:
        if body != b"file\0":
            return 2  # ENOENT
        return struct.pack("<4Q2I", 2, 0, FOR_EVER, FOR_EVER, 0, 0) + attributes(2)
    if operation in (GETATTR, SETATTR):
        return struct.pack("<Q2I", FOR_EVER, 0, 0) + attributes(node)
    if operation in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 0, 0, 0)
    return b"" if operation in (FLUSH, 18, 29) else 38  # RELEASE, RELEASEDIR; ENOSYS


def serve(device):
    while True:
        request = os.read(device, 1 << 17)
        _, operation, unique, node, *_ = HEADER.unpack_from(request)
        if operation in SILENT or operation in (FORGET, INTERRUPT, 42):  # BATCH_FORGET
            continue
        reply = answer(operation, node, request[HEADER.size:])
        error = reply if isinstance(reply, int) else 0
        data = b"" if error else reply
        os.write(device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
