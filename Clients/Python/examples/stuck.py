#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service whose coroutine blocks the event loop: load_feed() should be awaited, or run on another thread."""

import asyncio
import time

import watchdogd

FEED_SECONDS = 60


def load_feed() -> None:
    time.sleep(FEED_SECONDS)


async def main() -> None:
    stop = asyncio.Event()
    watchdogd.attach(on_terminate=stop.set, tell_stack=True)
    watchdogd.ready()
    await asyncio.sleep(0.5)
    load_feed()
    await stop.wait()


asyncio.run(main())
