#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An asyncio service that reads its feed again and again: on the event loop, or with --repaired on a thread."""

import asyncio
import os
import socket
import sys

import watchdogd


def load_feed(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        return connection.recv(4096)


async def refresh(port: int) -> None:
    while True:
        if "--repaired" in sys.argv:
            await asyncio.to_thread(load_feed, port)
        else:
            load_feed(port)
        await asyncio.sleep(0.1)


async def main() -> None:
    stop = asyncio.Event()
    watchdogd.attach(on_terminate=stop.set, tell_stack=True)
    watchdogd.ready()
    refreshing = asyncio.create_task(refresh(int(sys.argv[1])))
    await stop.wait()
    watchdogd.stopping()
    refreshing.cancel()
    # The thread that waits for the feed has nothing to save.
    os._exit(0)


asyncio.run(main())
