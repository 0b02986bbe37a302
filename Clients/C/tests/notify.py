# SPDX-License-Identifier: Apache-2.0
"""sd_notify, for the driver."""

import select
import statistics
import time

from app import App, notify_socket


def notify(driver):
    for is_abstract in (False, True):
        with notify_socket(is_abstract) as (ours, name), App(
                driver, channel=False, environment={"NOTIFY_SOCKET": name, "WATCHDOG_CHANNEL": "x"}) as app:
            app.tell("ready", "frame", "useful", "begin x", "summary x", "status hello", "extend 5 p", "stopping")
            app.line()
            for expected in ("READY=1", "STATUS=hello", "EXTEND_TIMEOUT_USEC=5\nPROGRESS=p", "STOPPING=1"):
                assert ours.recv(4096).decode() == expected + "\n", expected
            asked = app.ask()
            assert asked["supervised"] == "1" and asked["timeout"] == "-1" and asked["descriptor"] == "0", asked
            assert not select.select([ours], [], [], 0.2)[0], "pushed unasked"
            app.end()


def notify_watchdog(driver):
    with notify_socket() as (ours, name):
        with App(driver, channel=False, environment={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"}) as app:
            times = []
            for _ in range(8):
                assert ours.recv(4096) == b"WATCHDOG=1\n"
                times.append(time.monotonic())
            steps = [later - earlier for earlier, later in zip(times, times[1:])]
            assert 0.05 < statistics.median(steps) < 0.3, steps
            # A main loop that hangs sends no sign of life.
            app.tell("turns", "sleep 2000")
            app.line()
            while select.select([ours], [], [], 0)[0]:
                ours.recv(4096)
            assert not select.select([ours], [], [], 0.4)[0]
            assert ours.recv(4096) == b"WATCHDOG=1\n"
            app.end()
    for others in ({"WATCHDOG_PID": "1"}, {"WATCHDOG_PID": "x"}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "-1"},
                   {"WATCHDOG_USEC": "9" * 30}):
        with notify_socket() as (ours, name):
            values = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "100000", **others}
            with App(driver, channel=False, environment=values) as app:
                assert app.ask()["timeout"] == "-1", others
                assert not select.select([ours], [], [], 0.15)[0], others
                app.end()


def notify_trouble(driver):
    """The socket is not there, then it does not read, then it is gone."""
    for name in ("/nonexistent/notify", "relative", "", "@", "/", "/" + "x" * 200, "vsock:1:2"):
        with App(driver, channel=False, environment={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "100000"}) as app:
            app.tell("ready", "talk 1000")
            assert int(app.line().split()[1]) < 10_000_000
            app.end()
    with notify_socket() as (ours, name), App(driver, channel=False, environment={"NOTIFY_SOCKET": name}) as app:
        app.tell(*["ready"] * 2000, "status last", "turns")
        assert app.line().startswith("turns")
        heard = b""
        while b"STATUS=last\n" not in heard:
            heard = ours.recv(4096)
        app.end()


TESTS = [notify, notify_watchdog, notify_trouble]
