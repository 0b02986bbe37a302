# SPDX-License-Identifier: Apache-2.0
"""Gunicorn under watchdogd. In gunicorn.conf.py::

    from watchdogd.gunicorn import *

What is watched depends on the number of workers, because there is one channel, and one process answers on it.

With one worker (`workers = 1`), it is the worker. The pings are answered in its main loop:

- A sync worker answers between two requests. A request that takes longer than the update allowance is a hang, and
  watchdogd kills the whole program for it.
- A gthread worker answers on the thread that accepts connections; it proves nothing about the threads that serve
  requests.
- Workers of other kinds answer in a loop of theirs that turns once a second, so their answers are up to a second late:
  `--hang-reports 2s` keeps them from being reported as short hangs.

The worker says ready when it has loaded the application. If watchdogd asks for the end over the channel, the worker
asks the arbiter. When gunicorn replaces the worker, nobody answers until the next one has loaded the application: the
update allowance has to be longer than that.

With several workers, it is the arbiter. An answer proves that gunicorn can replace workers; it does not prove that any
worker serves requests. That is what gunicorn's own `timeout` is for. Ready means that the sockets are bound, not that
a worker has loaded the application.

Where NOTIFY_SOCKET is set, gunicorn itself says READY=1 there as soon as the arbiter has bound its sockets. Under
watchdogd's `--readiness auto` that ends the launch; `--readiness channel` waits for what is said here.

A configuration that has hooks of its own calls the functions of this module from them.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
from typing import Any, Callable

from . import Link, Terminate, link, ready, stopping

__all__ = ["on_starting", "when_ready", "post_worker_init", "on_exit"]

#: How long the arbiter waits for nothing, as it does by itself.
_ARBITER_PAUSE_SECONDS = 1.0

_is_arbiter_watched = False


def on_starting(server: Any) -> None:
    """Takes the channel for the arbiter, if it is the one that is watched."""
    global _is_arbiter_watched
    _is_arbiter_watched = server.cfg.workers != 1
    if not _is_arbiter_watched:
        return  # The channel stays where it is, and the worker inherits it.
    own_link = link()
    manage = server.murder_workers

    def manage_and_answer() -> None:
        if Terminate() in own_link.service():
            # As SIGTERM, which comes beside it; a second one is the same to the arbiter.
            os.kill(os.getpid(), signal.SIGTERM)
        manage()

    # What the arbiter calls in each turn of its loop.
    server.murder_workers = manage_and_answer
    _wake_arbiter(server, own_link)


def when_ready(server: Any) -> None:
    """Says ready for the arbiter: its sockets are bound."""
    if _is_arbiter_watched:
        ready()


def post_worker_init(worker: Any) -> None:
    """Takes the channel for the only worker, and says ready: the application is loaded."""
    if _is_arbiter_watched:
        return
    own_link = link()
    tell_alive = worker.notify

    def answer() -> None:
        if Terminate() in own_link.service():
            # Only the arbiter can end the server: without it, the worker would be replaced.
            os.kill(worker.ppid, signal.SIGTERM)

    def tell_alive_and_answer() -> None:
        tell_alive()
        answer()

    # What every kind of worker calls in each turn of its loop.
    worker.notify = tell_alive_and_answer
    _wake_sync_worker(worker, own_link)
    _wake_threaded_worker(worker, own_link, answer)
    ready()


def on_exit(server: Any) -> None:
    """Says that the arbiter has begun to end."""
    if _is_arbiter_watched:
        stopping()


# MARK: - Waking for the channel


def _wake_arbiter(server: Any, own_link: Link) -> None:
    """Lets the arbiter wake for the channel; it waits for a pipe, for a second at most."""
    own_sleep = server.sleep

    def sleep() -> None:
        pipe = getattr(server, "PIPE", None)
        descriptor = own_link.descriptor
        if not pipe or descriptor is None:
            own_sleep()
            return
        try:
            found = select.select([pipe[0], descriptor], [], [], _ARBITER_PAUSE_SECONDS)[0]
        except (OSError, ValueError):
            found = [pipe[0]]  # Whatever is wrong, gunicorn knows what to make of it.
        if pipe[0] in found:
            own_sleep()  # It returns at once, and empties the pipe.

    server.sleep = sleep


def _wake_sync_worker(worker: Any, own_link: Link) -> None:
    """Lets a sync worker, which may wait for half of `timeout`, wake for the channel."""
    own_wait = getattr(worker, "wait", None)
    waits_on = getattr(worker, "wait_fds", None)
    descriptor = own_link.descriptor
    if own_wait is None or not isinstance(waits_on, list) or descriptor is None:
        return
    wait_for_anything = own_wait
    waits_on.append(descriptor)

    def wait(timeout: float) -> Any:
        if own_link.descriptor is None and descriptor in waits_on:
            waits_on.remove(descriptor)  # Of a supervisor that is gone, it would be readable forever.
        found = wait_for_anything(timeout)
        # To the worker, all that it finds here is a listening socket or its own pipe.
        return [end for end in found if end != descriptor] if found else found

    worker.wait = wait


def _wake_threaded_worker(worker: Any, own_link: Link, answer: Callable[[], None]) -> None:
    """Lets a gthread worker wake for the channel."""
    poller = getattr(worker, "poller", None)
    descriptor = own_link.descriptor
    if not isinstance(poller, selectors.BaseSelector) or descriptor is None:
        return

    def heed(_: Any) -> None:
        answer()
        if own_link.descriptor is None:
            poller.unregister(descriptor)  # Of a supervisor that is gone, it would be readable forever.

    poller.register(descriptor, selectors.EVENT_READ, heed)
