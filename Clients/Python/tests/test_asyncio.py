# SPDX-License-Identifier: Apache-2.0
"""The client on an asyncio event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import unittest

from cases import Case, ChannelCase
from scripted import LIMIT_SECONDS, NotifySupervisor

import watchdogd
from watchdogd._app import Handlers
from watchdogd._attachment import Attachment


class Asyncio(ChannelCase):
    def run_loop(self, body):
        async def bounded():
            await asyncio.wait_for(body(), LIMIT_SECONDS)

        asyncio.run(bounded())

    def attach_loop(self, lifecycle=False, **handlers):
        self.attach(lifecycle, **handlers)
        self.supervisor.hear()
        return Attachment(self.app, asyncio.get_running_loop())

    async def hear(self):
        return await asyncio.to_thread(self.supervisor.hear)

    def test_the_loop_answers_and_a_blocked_loop_does_not(self):
        async def body():
            self.attach_loop()
            self.supervisor.say("PING=1")
            time.sleep(0.05)
            self.assertTrue(self.supervisor.is_silent)
            self.assertEqual(await self.hear(), ["PONG=1"])

        self.run_loop(body)

    def test_coroutines_hold_back_what_follows_but_no_answer(self):
        async def body():
            calls, go = [], asyncio.Event()

            async def to_background():
                calls.append("begun")
                await go.wait()
                calls.append("done")

            self.attach_loop(True, background=to_background, event=calls.append)
            self.app.set_ready()
            self.assertEqual(await self.hear(), ["READY=1"])
            self.supervisor.say("STATE=background", "STATE_ID=1", "EVENT=url", "EVENT_ID=1", "PING=9")
            self.assertEqual(await self.hear(), ["PONG=9"])
            self.assertEqual(calls, ["begun"])
            go.set()
            self.assertEqual(await self.hear(), ["STATE_DONE=1"])
            self.assertEqual(await self.hear(), ["EVENT_DONE=1"])
            self.assertEqual(calls, ["begun", "done", watchdogd.Event("url")])

        self.run_loop(body)

    def test_the_request_to_end_is_heard_once_on_both_ways(self):
        async def body():
            calls, stop = [], asyncio.Event()
            self.attach_loop(terminate=lambda: (calls.append("end"), stop.set()))
            os.kill(os.getpid(), signal.SIGTERM)
            await stop.wait()
            self.supervisor.say("TERMINATE=1", "PING=1")
            self.assertEqual(await self.hear(), ["PONG=1"])
            self.assertEqual(calls, ["end"])

        self.run_loop(body)

    def test_a_failing_handler_is_told_to_the_loop_and_answered_for(self):
        async def body():
            errors = []
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context["exception"]))
            self.attach_loop(True, background=lambda: 1 / 0)
            self.app.set_ready()
            await self.hear()
            self.supervisor.say("STATE=background", "STATE_ID=1")
            self.assertEqual(await self.hear(), ["STATE_DONE=1"])
            self.assertIsInstance(errors[0], ZeroDivisionError)

        self.run_loop(body)

    def test_a_closed_channel_leaves_the_loop_at_rest(self):
        async def body():
            attachment = self.attach_loop()
            self.supervisor.end.close()
            while attachment._watched is not None:
                await asyncio.sleep(0.01)
            turns = self.app.session.turns
            await asyncio.sleep(0.1)
            self.assertEqual(self.app.session.turns, turns)

        self.run_loop(body)

    def test_ready_on_another_thread_wakes_the_loop(self):
        async def body():
            calls = []
            self.attach_loop(True, event=calls.append)
            self.supervisor.say("EVENT=url", "EVENT_ID=1", "PING=1")
            self.assertEqual(await self.hear(), ["PONG=1"])
            await asyncio.to_thread(self.app.set_ready)
            self.assertEqual(await self.hear(), ["READY=1"])
            self.assertEqual(await self.hear(), ["EVENT_DONE=1"])

        self.run_loop(body)


class AsyncioNotify(Case):
    def test_the_loop_gives_signs_of_life_and_a_blocked_loop_does_not(self):
        supervisor = NotifySupervisor(WATCHDOG_USEC="100000")
        self.addCleanup(supervisor.close)

        async def body():
            app = self.new_app()
            app.attach(Handlers(), False)
            Attachment(app, asyncio.get_running_loop())
            for _ in range(3):
                self.assertEqual(await asyncio.to_thread(supervisor.hear), ["WATCHDOG=1"])
            supervisor.end.setblocking(False)
            time.sleep(0.3)
            with self.assertRaises(BlockingIOError):
                supervisor.hear()
                supervisor.hear()  # One may have been under way.
            supervisor.end.settimeout(LIMIT_SECONDS)
            self.assertEqual(await asyncio.to_thread(supervisor.hear), ["WATCHDOG=1"])

        asyncio.run(body())


if __name__ == "__main__":
    unittest.main()
