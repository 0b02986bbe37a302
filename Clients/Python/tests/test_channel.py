# SPDX-License-Identifier: Apache-2.0
"""What goes over the channel, against a scripted supervisor."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
import unittest
from datetime import timedelta

from cases import ChannelCase, change
from scripted import LIMIT_SECONDS

import watchdogd
from watchdogd import _wire
from watchdogd._app import Handlers


class Greeting(ChannelCase):
    def test_hello_is_the_first_message(self):
        self.attach()
        self.assertEqual(self.supervisor.hear(), ["HELLO=1", f"PID={os.getpid()}", f"LIBRARY={_wire.LIBRARY}"])

    def test_hello_of_an_app_with_a_lifecycle_says_so(self):
        self.attach(lifecycle=True)
        self.assertIn("LIFECYCLE=1", self.supervisor.hear())

    def test_what_was_said_before_comes_with_hello(self):
        self.app = self.new_app()
        self.app.set_status("early")
        self.app.set_ready()
        self.supervisor.offer()
        self.app.attach(Handlers(), False)
        heard = self.supervisor.hear()
        self.assertEqual((heard[0], heard[3:]), ("HELLO=1", ["READY=1", "STATUS=early"]))

    def test_the_channel_leaves_the_environment_and_is_closed_on_exec(self):
        link = self.attach()
        self.assertNotIn("WATCHDOG_CHANNEL", os.environ)
        self.assertTrue(fcntl.fcntl(link.descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC)

    def test_a_second_attach_is_refused(self):
        self.attach()
        with self.assertRaises(watchdogd.AttachError):
            self.app.attach(Handlers(), False)


class Faults(ChannelCase):
    def test_a_hang_is_obeyed_in_a_launch_that_allows_faults(self):
        os.environ["WATCHDOG_FAULTS"] = "1"
        link = self.attach()
        self.assertIn("FAULTS=1", self.supervisor.hear())
        self.assertNotIn("WATCHDOG_FAULTS", os.environ)
        self.supervisor.say("HANG_USEC=50000")
        self.supervisor.say("PING=1")
        start = time.monotonic()
        link.service()
        self.assertGreaterEqual(time.monotonic() - start, 0.05)
        self.assertTrue(self.supervisor.is_silent)
        link.service()
        self.assertIn("PONG=1", self.supervisor.hear())

    def test_a_hang_is_ignored_in_any_other(self):
        link = self.attach()
        self.assertNotIn("FAULTS=1", self.supervisor.hear())
        self.supervisor.say("HANG_USEC=600000000", "PING=1")
        link.service()
        self.assertIn("PONG=1", self.supervisor.hear())


class Signposts(ChannelCase):
    def setUp(self):
        super().setUp()
        self.attach()
        self.supervisor.hear()

    def test_an_interval_has_one_number_and_two_times(self):
        number = self.app.mark("begin", None, "photos", "load\trows")
        self.app.mark("end", number, "photos", "load\trows")
        (begun,), (ended,) = self.supervisor.hear(), self.supervisor.hear()
        begun, ended = begun.split(" ", 4), ended.split(" ", 4)
        self.assertEqual([begun[0], begun[1], begun[3], begun[4]], ["SIGNPOST=begin", "1", "main", "photos\tload rows"])
        self.assertEqual([ended[0], ended[1], ended[3:]], ["SIGNPOST=end", "1", begun[3:]])
        self.assertLessEqual(int(begun[2]), int(ended[2]))

    def test_an_event_on_another_thread_says_so(self):
        thread = threading.Thread(target=lambda: self.app.mark("event", None, "net", "got", "row 4"))
        thread.start()
        thread.join()
        self.assertRegex(self.supervisor.hear()[0], r"^SIGNPOST=event 1 \d+ other net\tgot\trow 4$")

    def test_too_many_are_counted_and_not_kept(self):
        message = _wire.ClientMessage()
        for index in range(_wire.SIGNPOST_LIMIT + 5):
            message.mark(_wire.signpost("event", index, 1, True, ("c", "n", "")))
        datagram, rest = message.encode()
        self.assertLessEqual(len(datagram), _wire.DATAGRAM_LIMIT_BYTES)
        self.assertIn(b"SIGNPOSTS_LOST=5\n", datagram)
        self.assertEqual(rest.signposts_lost, 0)
        sent = datagram.count(b"SIGNPOST=")
        self.assertEqual(sent + len(rest.signposts), _wire.SIGNPOST_LIMIT)


class Answers(ChannelCase):
    def setUp(self):
        super().setUp()
        self.attach()
        self.supervisor.hear()

    def test_a_ping_is_answered_in_service_and_not_before(self):
        self.supervisor.say("PING=18446744073709551615")
        self.assertTrue(self.supervisor.is_silent)
        self.assertEqual(self.link.service(), [])
        self.assertEqual(self.supervisor.hear(), ["PONG=18446744073709551615"])

    def test_an_answer_of_another_thread_names_it(self):
        self.supervisor.say("PING=1")
        numbers = []
        thread = threading.Thread(target=lambda: (numbers.append(threading.get_native_id()), self.link.service()))
        thread.start()
        thread.join(LIMIT_SECONDS)
        self.assertEqual(self.supervisor.hear(), ["PONG=1", f"THREAD={numbers[0]}"])

    def test_each_ping_of_a_flood_is_answered_with_bounded_turns(self):
        self.supervisor.end.setblocking(False)
        sent = 0
        try:
            for sent in range(1, 201):
                self.supervisor.say(f"PING={sent}")
        except BlockingIOError:
            sent -= 1
        heard = []
        for _ in range(sent):
            self.link.service()
            while not self.supervisor.is_silent:
                heard += self.supervisor.hear()
        self.assertEqual(heard, [f"PONG={number}" for number in range(1, sent + 1)])

    def test_garbage_is_ignored_and_the_next_ping_answered(self):
        garbage = [
            bytes(range(256)),
            b"\xff" * 4096,
            b"A=" + b"x" * 4094,
            b"PING=1\n" + b"x" * 5000,
            b"PING=7\0\nPING=8",
            b"\n\r\n",
            b"=PING\nPING\nPING=\nPING=5",
            b"PING=-1",
            b"PING=18446744073709551616",
            b"PING= 3",
            "PING=\u0663".encode(),
            b"STATE=sideways\nSTATE_ID=1\nEVENT=\xff\nEVENT_ID=0\nTERMINATE=2\nEXPIRE=yes\nBACKGROUND_USEC=0",
            b"\0",
            b"PING=" + b"9" * 4091,
        ]
        for datagram in garbage:
            with self.subTest(datagram=datagram[:20]):
                self.supervisor.end.send(datagram)
                self.assertEqual(self.link.service(), [])
                self.assertTrue(self.supervisor.is_silent)
        self.supervisor.say("FUTURE=1", "PING=2", "PING=3", "OTHER=")
        self.link.service()
        self.assertEqual(self.supervisor.hear(), ["PONG=2"])

    def test_a_trailing_nul_is_tolerated(self):
        self.supervisor.end.send(b"PING=4\n\0")
        self.link.service()
        self.assertEqual(self.supervisor.hear(), ["PONG=4"])

    def test_the_request_to_end_is_returned(self):
        self.supervisor.say("PING=1", "TERMINATE=1")
        self.assertEqual(self.link.service(), [watchdogd.Terminate()])

    def test_states_and_events_are_not_answered_without_a_lifecycle(self):
        self.app.set_ready()
        self.supervisor.hear()
        self.supervisor.say("STATE=background", "STATE_ID=1", "EVENT=url", "EVENT_ID=1")
        self.assertEqual(self.link.service(), [])
        self.assertTrue(self.supervisor.is_silent)


class Ends(ChannelCase):
    def test_a_closed_channel_is_told_once_and_then_there_is_silence(self):
        link = self.attach()
        number = link.descriptor
        self.supervisor.end.close()
        self.assertEqual(link.service(), [watchdogd.Disconnected()])
        self.assertEqual((link.descriptor, link.timeout, link.service()), (None, None, []))
        self.app.set_status("unheard")
        os.fstat(number)  # The number stays taken.
        self.assertFalse(self.app.session.is_supervised)

    def test_what_is_said_to_a_closed_channel_raises_nothing(self):
        link = self.attach()
        self.supervisor.end.close()
        self.app.set_ready()
        self.assertEqual(link.service(), [watchdogd.Disconnected()])


class FullSocket(ChannelCase):
    def test_a_full_socket_blocks_nothing_and_the_latest_words_come_later(self):
        link = self.attach()
        while True:  # What lies there unread already counts as much as what the app says.
            try:
                self.app.session._channel.send(b"x" * 4000, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
        began = time.monotonic()
        for number in range(1000):
            self.app.set_status(str(number))
            task = self.app.begin_background_task(str(number), None)
            task.end()
        kept = self.app.begin_background_task("kept", None)
        self.app.set_ready()
        self.assertLess(time.monotonic() - began, 5)
        self.assertIsNotNone(link.timeout)
        while not self.supervisor.is_silent:
            self.supervisor.end.recv(8192)
        heard = []
        ends = time.monotonic() + LIMIT_SECONDS
        while "STATUS=999" not in heard and time.monotonic() < ends:
            link.wait(timedelta(seconds=1))
            link.service()
            while not self.supervisor.is_silent:
                heard += self.supervisor.hear()
        self.assertEqual(heard, ["READY=1", "STATUS=999", f"BEGIN_TASK={kept._number} kept"])

    def test_a_talkative_app_is_held_back_but_its_answers_are_not(self):
        link = self.attach()
        self.supervisor.hear()
        for number in range(200):
            self.app.set_status(str(number))
        datagrams = 0
        while not self.supervisor.is_silent:
            self.supervisor.hear()
            datagrams += 1
        self.assertLess(datagrams, 30)
        self.supervisor.say("PING=1")
        link.service()
        self.assertEqual(self.supervisor.hear(), ["PONG=1", "STATUS=199"])


class Words(ChannelCase):
    def test_texts_are_one_line_and_cut_at_whole_characters(self):
        self.attach()
        self.supervisor.hear()
        self.app.set_status("a\nREADY=1\r\0b")
        self.assertEqual(self.supervisor.hear(), ["STATUS=a READY=1  b"])
        self.app.set_status("é" * 600 + "\ud800")
        self.assertEqual(self.supervisor.hear(), ["STATUS=" + "é" * 512])
        self.app.say(change(summary="x" * 127 + "é"))
        self.assertEqual(self.supervisor.hear(), ["SUMMARY=" + "x" * 127])

    def test_words_that_are_no_text_spoil_nothing(self):
        self.attach()
        self.supervisor.hear()
        self.app.set_status(None)
        self.app.begin_background_task(7, None)
        self.assertEqual([self.supervisor.hear() for _ in range(2)], [["STATUS=None"], ["BEGIN_TASK=1 7"]])

    def test_more_tasks_than_fit_keep_beginnings_before_ends_and_states(self):
        self.app = self.new_app()
        tasks = [self.app.begin_background_task("n" * 300, None) for _ in range(50)]
        self.app.say(change(state_done=3))
        self.supervisor.offer()
        self.app.attach(Handlers(), False)
        tasks[0].end()
        heard = self.supervisor.hear_until("END_TASK=1")
        begun = [line.split()[0] for line in heard if line.startswith("BEGIN_TASK")]
        self.assertEqual(begun, [f"BEGIN_TASK={number}" for number in range(1, 51)])
        self.assertEqual(heard[-2:], ["STATE_DONE=3", "END_TASK=1"])

    def test_many_threads_can_talk_at_once(self):
        self.attach()
        tasks_per_thread, threads = 50, []
        heard = []
        for _ in range(8):
            threads.append(
                threading.Thread(
                    target=lambda: [self.app.begin_background_task("t", None).end() for _ in range(tasks_per_thread)]
                )
            )
            threads[-1].start()
        for thread in threads:
            thread.join(LIMIT_SECONDS)
        self.app.set_ready()
        ends = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < ends:
            self.link.service()
            while not self.supervisor.is_silent:
                heard += self.supervisor.hear()
            begun = {line.split("=")[1].split()[0] for line in heard if line.startswith("BEGIN_TASK")}
            ended = {line.split("=")[1] for line in heard if line.startswith("END_TASK")}
            if "READY=1" in heard and begun == ended and self.link.timeout is None:
                break
            self.link.wait(timedelta(milliseconds=50))
        self.assertEqual(begun, ended)

    def test_a_signal_handler_may_talk_in_the_middle_of_it(self):
        self.attach()
        previous = signal.signal(signal.SIGALRM, lambda number, frame: self.app.set_status("from a handler"))
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        ends = time.monotonic() + 0.5
        while time.monotonic() < ends:
            self.app.begin_background_task("t", None).end()
            self.link.service()
            while not self.supervisor.is_silent:
                self.supervisor.hear()
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    unittest.main()
