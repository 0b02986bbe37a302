#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A main thread that serves a queue which other threads fill, and answers pings between two jobs."""

import queue
import signal
import threading
import time

import watchdogd

PAUSE_SECONDS = 0.1

jobs: "queue.Queue[int]" = queue.Queue(maxsize=100)
stop = threading.Event()


def produce() -> None:
    number = 0
    while not stop.is_set():
        number += 1
        jobs.put(number)
        time.sleep(0.3)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    link = watchdogd.link()
    threading.Thread(target=produce, daemon=True).start()
    watchdogd.ready()
    done = 0
    while not stop.is_set():
        if watchdogd.Terminate() in link.service():
            break
        try:
            jobs.get(timeout=PAUSE_SECONDS)
        except queue.Empty:
            continue
        done += 1
        watchdogd.summary(f"{done} jobs")
    watchdogd.stopping()


main()
