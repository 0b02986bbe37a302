# SPDX-License-Identifier: Apache-2.0
"""States, events and background tasks, against a scripted supervisor."""

from __future__ import annotations

import os
import unittest

from cases import ChannelCase

import watchdogd


class Lifecycle(ChannelCase):
    def setUp(self):
        super().setUp()
        self.calls = []

    def attach_ready(self, **more):
        handlers = dict(
            background=lambda: self.calls.append("background"),
            foreground=lambda: self.calls.append("foreground"),
            expire=lambda: self.calls.append("expire"),
            event=self.calls.append,
        )
        link = self.attach(lifecycle=True, **{**handlers, **more})
        self.app.set_ready()
        self.supervisor.hear_until("READY=1")
        return link

    def test_a_state_is_entered_and_then_answered(self):
        link = self.attach_ready()
        self.supervisor.say("STATE=background", "STATE_ID=1", "BACKGROUND_USEC=30000000")
        self.assertEqual(link.service(), [watchdogd.Background()])
        self.assertEqual((self.calls, self.supervisor.hear()), (["background"], ["STATE_DONE=1"]))
        self.assertAlmostEqual(self.app.background_tasks.time_remaining.total_seconds(), 30, delta=1)
        self.supervisor.say("STATE=foreground", "STATE_ID=2")
        link.service()
        self.assertEqual((self.calls[1:], self.supervisor.hear()), (["foreground"], ["STATE_DONE=2"]))
        self.assertIsNone(self.app.background_tasks.time_remaining)

    def test_a_number_that_was_heeded_is_answered_again_and_changes_nothing(self):
        link = self.attach_ready()
        for _ in range(2):
            self.supervisor.say("STATE=background", "STATE_ID=5", "EVENT=url", "EVENT_ID=7", "PAYLOAD=x=1", "EVENT_FROM=mail")
            link.service()
        self.supervisor.say("STATE=foreground", "STATE_ID=4")
        link.service()
        self.assertEqual(self.calls, ["background", watchdogd.Event("url", "x=1", "mail")])
        heard = [self.supervisor.hear() for _ in range(5)]
        self.assertEqual(heard, [["STATE_DONE=5"], ["EVENT_DONE=7"]] * 2 + [["STATE_DONE=5"]])

    def test_expiration_calls_the_handlers_of_open_tasks_once(self):
        link = self.attach_ready()
        first = self.app.begin_background_task("first", lambda: (self.calls.append("first"), first.end()))
        self.app.begin_background_task("second", lambda: self.calls.append("second"))
        self.app.begin_background_task("ended", lambda: self.calls.append("ended")).end()
        self.supervisor.say("STATE=background", "STATE_ID=1")
        link.service()
        for _ in range(2):
            self.supervisor.say("EXPIRE=1")
            link.service()
        self.assertTrue(first.is_expired)
        self.assertEqual(self.calls, ["background", "first", "second", "expire", "expire"])
        self.app.begin_background_task("late", lambda: self.calls.append("late"))
        self.assertEqual(link.timeout, 0)
        link.service()
        self.assertEqual(self.calls[-1], "late")

    def test_a_task_that_an_earlier_handler_has_ended_is_left_out(self):
        link = self.attach_ready(expire=None)
        self.app.begin_background_task("first", lambda: (self.calls.append("first"), second.end()))
        second = self.app.begin_background_task("second", lambda: self.calls.append("second"))
        self.supervisor.say("STATE=background", "STATE_ID=1", "EXPIRE=1")
        self.assertEqual(link.service(), [watchdogd.Background(), watchdogd.Expire()])
        self.assertEqual(self.calls, ["background", "first"])

    def test_what_comes_during_the_launch_waits_for_its_end_but_pings_do_not(self):
        link = self.attach(lifecycle=True, event=self.calls.append)
        self.supervisor.hear()
        self.supervisor.say("EVENT=url", "EVENT_ID=1", "PING=1")
        self.assertEqual(link.service(), [])
        self.assertEqual((self.calls, self.supervisor.hear()), ([], ["PONG=1"]))
        self.app.set_ready()
        self.assertEqual(link.timeout, 0)
        self.assertEqual(link.service(), [watchdogd.Event("url")])
        self.supervisor.hear_until("EVENT_DONE=1")

    def test_a_launch_into_the_background_begins_there(self):
        os.environ.update(WATCHDOG_STATE="background", WATCHDOG_EVENT="url")
        link = self.attach_ready()
        self.assertEqual(self.app.launch, watchdogd.Launch(True, "url"))
        self.assertFalse({"WATCHDOG_STATE", "WATCHDOG_EVENT"} & set(os.environ))
        self.supervisor.say("STATE=foreground", "STATE_ID=1")
        self.assertEqual(link.service(), [watchdogd.Foreground()])

    def test_a_handler_that_fails_is_answered_for_and_raises(self):
        link = self.attach_ready(background=lambda: 1 / 0)
        self.supervisor.say("STATE=background", "STATE_ID=1", "EVENT=url", "EVENT_ID=1")
        with self.assertRaises(ZeroDivisionError):
            link.service()
        self.assertEqual(link.service(), [watchdogd.Event("url")])
        self.supervisor.hear_until("EVENT_DONE=1")


if __name__ == "__main__":
    unittest.main()
