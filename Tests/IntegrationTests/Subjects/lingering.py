# SPDX-License-Identifier: Apache-2.0
"""An app that passes sockets to everything it can reach, whose last close takes half a minute: SO_LINGER, socket(7)."""

import os
import struct
import threading

from wd import array, channel, hang, notify, socket

RIGHTS = 20
listening = socket.create_server(("127.0.0.1", 0))
listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
peers = []


def lingering():
    """A connection with more unsent than the peer takes."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    connection.connect(listening.getsockname())
    peers.append(listening.accept()[0])
    connection.setblocking(False)
    try:
        while True:
            connection.send(b"x" * 65536)
    except BlockingIOError:
        pass
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30))
    connection.setblocking(True)
    return connection


def rights(count=1):
    connections = [lingering() for _ in range(count)]
    numbers = array.array("i", [connection.fileno() for connection in connections])
    return connections, [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)]


def give_up(connections):
    """Closes sockets that were passed, in threads: where watchdogd has closed its own before, this close takes long."""
    for connection in connections:
        threading.Thread(target=connection.close, daemon=True).start()


def passing(send):
    """Passes sockets and closes its own; of those that the kernel refuses to pass, this close would take long."""
    connections, control = rights(2)
    try:
        send(control)
    except OSError as error:
        print("refused:", error, flush=True)
        peers.extend(connections)
        return
    give_up(connections)


end = channel()
passing(lambda control: end.sendmsg([b"STATUS=1"], control))
with socket.socket(socket.AF_UNIX) as caller:
    caller.connect(os.environ["CONTROL"])
    passing(lambda control: caller.sendmsg([b"{"], control))
for _ in range(3):
    connections, control = rights(RIGHTS)
    notify("STATUS=hello", descriptors=[connection.fileno() for connection in connections])
    give_up(connections)
open(os.path.join(os.path.dirname(os.environ["CONTROL"]), "passed"), "w").close()
hang()
