#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service on asyncio with a lifecycle: it counts, saves in the background, and ends when it is asked to."""

import asyncio
import time

import watchdogd


class Service:
    def __init__(self) -> None:
        self.rows = 0
        self.saved_rows = 0
        self.stop = asyncio.Event()

    async def load(self) -> None:
        with watchdogd.launch_task("rows"):
            await asyncio.sleep(0.05)

    async def count(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            self.rows += 1
            watchdogd.summary(f"{self.rows} rows, {self.saved_rows} saved")

    async def save(self) -> None:
        with watchdogd.background_task("saving rows") as task:
            while self.saved_rows < self.rows and not task.is_expired:
                self.saved_rows = self.rows
                await asyncio.sleep(0.05)

    def heed(self, event: watchdogd.Event) -> None:
        watchdogd.status(f"handled {event.kind}")
        print("event", event.kind, event.payload, flush=True)
        # `watchdogd conformance` requests this, to check that nothing answers pings meanwhile.
        if event.kind == "conformance-block":
            time.sleep(int(event.payload) / 1000)


async def main() -> None:
    service = Service()
    watchdogd.attach(
        lifecycle=True,
        on_terminate=service.stop.set,
        on_background=service.save,
        on_foreground=lambda: watchdogd.status("in the foreground"),
        on_event=service.heed,
    )
    await service.load()
    watchdogd.ready()
    watchdogd.first_frame()
    counting = asyncio.create_task(service.count())
    await service.stop.wait()
    watchdogd.stopping()
    counting.cancel()


asyncio.run(main())
