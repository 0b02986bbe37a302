# SPDX-License-Identifier: Apache-2.0
"""Whole programs under a scripted supervisor."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import unittest
from pathlib import Path

from cases import EXAMPLES
from scripted import LIMIT_SECONDS, Supervisor

FORKER = """
import os, sys, watchdogd
link = watchdogd.link()
watchdogd.ready()
child = os.fork()
if child == 0:
    watchdogd.status("from the child")
    os._exit(0 if link.descriptor is None and link.service() == [] else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
inherits = os.system("env | grep -q WATCHDOG_CHANNEL || ls -l /proc/self/fd | grep -q socket:") == 0
watchdogd.status(f"child {code}, program inherits {inherits}")
"""


class Processes(unittest.TestCase):
    """Whole programs."""

    def setUp(self):
        self.supervisor = Supervisor()
        self.addCleanup(self.supervisor.close)

    def run_program(self, program):
        process = self.supervisor.run(program)

        def clean():
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.addCleanup(clean)
        return process

    def cpu_seconds(self, process):
        ticks = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rsplit(")")[1].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def test_children_do_not_inherit_the_conversation(self):
        process = self.run_program(FORKER)
        self.supervisor.hear_until("STATUS=child 0, program inherits False")
        self.assertEqual(process.wait(LIMIT_SECONDS), 0)

    def test_every_function_speaks(self):
        self.run_program(
            "import watchdogd as w; from datetime import timedelta as t; l = w.link()\n"
            "with w.launch_task('rows'): pass\n"
            "with w.background_task('saving'): pass\n"
            "w.first_frame(); w.first_frame(); w.useful(); w.status('s'); w.summary('m')\n"
            "w.extend(t(seconds=30), progress='1 of 2'); w.ready(); w.stopping()\n"
            "with w.launch_task('late') as counts: assert not counts\n"
        )
        self.assertEqual(
            self.supervisor.hear_until("STOPPING=1")[3:],
            ["BEGIN_LAUNCH_TASK=rows", "END_LAUNCH_TASK=rows", "BEGIN_TASK=1 saving", "END_TASK=1", "FIRST_FRAME=1"]
            + ["USEFUL=1", "STATUS=s", "SUMMARY=m", "EXTEND_TIMEOUT_USEC=30000000", "PROGRESS=1 of 2"]
            + ["READY=1", "STOPPING=1"],
        )
        self.assertEqual(self.supervisor.hear(), [])

    def test_the_examples_end_when_they_are_asked_over_the_channel_alone(self):
        for name in ("service.py", "queue_service.py"):
            with self.subTest(name=name):
                self.supervisor.close()
                self.supervisor = Supervisor()
                process = self.run_program(str(EXAMPLES / name))
                self.supervisor.hear_until("READY=1")
                self.supervisor.say("PING=1")
                self.supervisor.hear_until("PONG=1")
                self.supervisor.say("TERMINATE=1")
                self.supervisor.hear_until("STOPPING=1")
                self.assertEqual(process.wait(LIMIT_SECONDS), 0)
        self.supervisor.close()

    def test_the_service_answers_each_ping_of_a_flood_among_garbage_or_the_newest_of_several(self):
        self.run_program(str(EXAMPLES / "service.py"))
        self.supervisor.hear_until("READY=1")
        answered = []

        def listen():
            while "PONG=1000" not in answered:
                answered.extend(line for line in self.supervisor.hear() if line.startswith("PONG"))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        for number in range(1, 1001):
            if number % 10 == 0:
                self.supervisor.end.send(os.urandom(4096).replace(b"\nPING=", b""))
            self.supervisor.say(f"PING={number}", "UNKNOWN=1", "PAYLOAD=")
        listener.join(LIMIT_SECONDS)
        # Those that wait together, because the service had no CPU, are answered by the newest.
        numbers = [int(answer.removeprefix("PONG=")) for answer in answered]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertTrue(set(numbers) <= set(range(1, 1001)) and numbers[-1] == 1000, numbers)
        self.supervisor.say("TERMINATE=1")

    def test_the_examples_go_on_without_the_supervisor(self):
        for name in ("service.py", "queue_service.py"):
            with self.subTest(name=name):
                self.supervisor = Supervisor()
                process = self.run_program(str(EXAMPLES / name))
                self.supervisor.hear_until("READY=1")
                before = self.cpu_seconds(process)
                self.supervisor.close()
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(1)
                self.assertLess(self.cpu_seconds(process) - before, 0.6)
                process.terminate()
                self.assertEqual(process.wait(LIMIT_SECONDS), 0)

    def test_a_stuck_loop_tells_the_functions_it_is_in(self):
        self.supervisor.close()
        self.supervisor = Supervisor(WATCHDOG_USEC="400000")
        self.run_program(str(EXAMPLES / "stuck.py"))
        self.supervisor.hear_until("READY=1")
        time.sleep(0.7)
        self.supervisor.say("PING=1")
        place = r"\(stuck\.py:\d+\)"
        self.assertRegex(self.supervisor.hear()[0], f"^STATUS=stuck in load_feed {place} < main {place} < ")

    def test_a_loop_that_comes_back_takes_the_words_back(self):
        os.environ["WATCHDOG_USEC"] = "200000"
        self.run_program(
            "import time, watchdogd; from datetime import timedelta as t\n"
            "l = watchdogd.link(tell_stack=True); watchdogd.status('fine')\n"
            "time.sleep(1.5)\n"
            "while not watchdogd.Terminate() in l.service(): l.wait(t(seconds=5))\n"
        )
        self.supervisor.hear_until("STATUS=fine")
        self.supervisor.say("PING=1")
        self.assertRegex(self.supervisor.hear()[0], "^STATUS=stuck in <module> ")
        self.supervisor.hear_until("STATUS=fine")
        self.supervisor.say("TERMINATE=1")


if __name__ == "__main__":
    unittest.main()
