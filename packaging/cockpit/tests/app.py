#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An app of the page's test: answers pings, has a hostile status, and hangs at SIGUSR1."""

import asyncio
import signal
import sys
import time

import watchdogd


async def main() -> None:
    stop = asyncio.Event()
    watchdogd.attach(on_terminate=stop.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, 60)
    watchdogd.status(sys.argv[1])
    watchdogd.ready()
    await stop.wait()


asyncio.run(main())
