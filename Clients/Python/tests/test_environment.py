# SPDX-License-Identifier: Apache-2.0
"""Whom the environment names: nobody, a service manager, or a channel that is none."""

from __future__ import annotations

import os
import socket
import time
import unittest
from datetime import timedelta

from cases import Case
from scripted import LIMIT_SECONDS, NotifySupervisor, clean_environment

from watchdogd._app import Handlers
from watchdogd._link import Link


class Environments(Case):
    def setUp(self):
        clean_environment()
        self.addCleanup(clean_environment)

    def attached(self):
        app = self.new_app()
        app.attach(Handlers(), False)
        return app

    def test_without_a_supervisor_there_is_silence(self):
        app = self.attached()
        app.set_ready()
        link = Link(app)
        self.assertEqual((link.descriptor, link.timeout, link.service()), (None, None, []))

    def test_an_unusable_channel_counts_as_absent_and_is_left_alone(self):
        pipe = os.pipe()
        plain = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        unconnected = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        bad = ["", "-1", "x", "3x", "٣", "99999999999999999999", "1000000", str(pipe[0]), str(plain[0].fileno())]
        for value in bad + [str(unconnected.fileno())]:
            with self.subTest(value=value):
                os.environ["WATCHDOG_CHANNEL"] = value
                self.assertFalse(self.attached().session.is_supervised)
                self.assertNotIn("WATCHDOG_CHANNEL", os.environ)
        for number in (*pipe, plain[0].fileno(), unconnected.fileno()):
            os.fstat(number)
        for number in pipe:
            os.close(number)
        for end in (*plain, unconnected):
            end.close()

    def test_unusable_notify_addresses_count_as_absent(self):
        for value in ["relative", "@", "/" + "x" * 200, "vsock:2:1", "@" + "x" * 108]:
            with self.subTest(value=value[:12]):
                os.environ["NOTIFY_SOCKET"] = value
                self.assertFalse(self.attached().session.is_supervised)


class Notify(Case):
    def begin(self, **variables):
        self.supervisor = NotifySupervisor(**variables)
        self.addCleanup(self.supervisor.close)
        self.app = self.new_app()
        self.app.attach(Handlers(), False)
        self.link = Link(self.app)

    def test_readiness_status_and_end_are_said_in_its_words(self):
        for is_abstract in (False, True):
            self.begin(is_abstract=is_abstract)
            self.app.begin_background_task("nobody hears of it", None)
            self.app.set_ready()
            self.assertEqual(self.supervisor.hear(), ["READY=1"])
            self.app.set_status("here")
            self.assertEqual(self.supervisor.hear(), ["STATUS=here"])

    def test_signs_of_life_come_from_the_loop_at_half_of_the_allowance(self):
        self.begin(WATCHDOG_USEC="200000", WATCHDOG_PID=str(os.getpid()))
        self.assertEqual(self.link.timeout, 0)
        self.link.service()
        self.assertEqual(self.supervisor.hear(), ["WATCHDOG=1"])
        self.assertTrue(0 < self.link.timeout <= 0.1)
        began = time.monotonic()
        while not self.link.wait(timedelta(seconds=1)):
            pass
        self.link.service()
        self.assertEqual(self.supervisor.hear(), ["WATCHDOG=1"])
        self.assertGreater(time.monotonic() - began, 0.05)

    def test_signs_of_life_that_are_meant_for_another_process_are_not_pushed(self):
        self.begin(WATCHDOG_USEC="200000", WATCHDOG_PID="1")
        self.assertIsNone(self.link.timeout)

    def test_a_supervisor_that_is_away_is_told_later(self):
        self.begin()
        path = os.environ["NOTIFY_SOCKET"]
        self.supervisor.end.close()
        os.unlink(path)
        self.app.set_ready()
        self.supervisor.end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.supervisor.end.settimeout(LIMIT_SECONDS)
        self.supervisor.end.bind(path)
        self.app.set_status("again")
        self.assertEqual(self.supervisor.hear(), ["READY=1", "STATUS=again"])


if __name__ == "__main__":
    unittest.main()
