# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, and programs under the real supervisor."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from scripted import SOURCES, clean_environment  # noqa: E402

from watchdogd.testing import (  # noqa: E402
    RECORD_VARIABLE,
    ProgramNotFound,
    Result,
    Run,
    Supervisor,
    TimedOut,
    find_program,
)

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PYTEST_LIMIT_SECONDS = 120
SOON_SECONDS = 20
SECOND = timedelta(seconds=1)
ENVIRONMENT = {"PYTHONPATH": str(SOURCES)}

HEALTHY = """
launch
wait ready within 10s
event url about:blank
background
wait background
foreground
wait foreground
sleep 500ms
expect alive
terminate
expect exited 0
"""


def missing_program() -> str | None:
    try:
        find_program()
    except ProgramNotFound as error:
        return str(error)
    return None


def wait_until_gone(marker: str) -> list[str]:
    """The processes that have `marker` in their command line, once there are none or it has taken too long."""
    ends = time.monotonic() + SOON_SECONDS
    while True:
        found = []
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            try:
                if marker.encode() in (process / "cmdline").read_bytes():
                    found.append(process.name)
            except OSError:
                continue
        if not found or time.monotonic() > ends:
            return found
        time.sleep(0.05)


def wait_for_answers(trace: Path, count: int, run: Run) -> None:
    """Returns once a run has recorded that its program is ready and has answered so many pings."""
    ends = time.monotonic() + SOON_SECONDS
    answers = 0
    while run.is_running and time.monotonic() < ends:
        lines = trace.read_text().splitlines() if trace.exists() else []
        answers = sum('"event":"answered"' in line for line in lines)
        if answers >= count and any('"event":"ready"' in line for line in lines):
            return
        time.sleep(0.05)
    raise AssertionError(f"not ready with {count} answers, but {answers}; the run is running: {run.is_running}")


class Results(unittest.TestCase):
    """What an assertion says; needs no supervisor."""

    def setUp(self):
        incident = {"code": "0x8badf00d", "event": "scene-update", "verdict": "Main thread blocked"}
        frames = [{"symbol": "clock_nanosleep"}, {"imageIndex": 0}, {"symbol": "Feed::load_feed(int)"}]
        self.killed = Result(
            exit_status=137,
            summary={"termination": "watchdog", "exit": {"signal": "SIGKILL"}, "incidents": [incident]},
            output="",
            messages="it was killed",
            report={
                "faultingThread": 1,
                "threads": [{}, {"frames": frames}],
                "linux": {"status": "stuck in Store.save (store.py:3) < main (app.py:9)"},
            },
            _explanation={"blame": {"party": "app"}},
        )

    def test_facts_are_read(self):
        killed = self.killed
        self.assertEqual((killed.code, killed.event, killed.fault), ("0x8badf00d", "scene-update", "app"))
        self.assertEqual([killed.main_thread_has(name) for name in ("load_feed", "save", "Store.save")], [True] * 3)
        self.assertEqual([killed.main_thread_has(name) for name in ("load", "feed", "sav", "Store_save")], [False] * 4)
        killed.assert_killed("0x8badf00d", "scene-update")

    def test_a_failure_says_what_was_expected_and_what_came_with_the_verdict(self):
        with self.assertRaises(AssertionError) as caught:
            self.killed.assert_exited(0)
        self.assertEqual(
            str(caught.exception).splitlines(),
            [
                "expected: an end with exit code 0",
                "came:     a kill by the watchdog (0x8badf00d:scene-update)",
                "verdict:  Main thread blocked",
                "standard error:",
                "  it was killed",
            ],
        )

    def test_a_crash_log_is_told_in_ten_lines(self):
        killed = self.killed
        killed.report_path = Path("/r/app.ips")
        killed._explanation = {
            "culprit": "Main thread sleeps in load (app.py:7)",
            "verdict": "Main thread blocked 2.00 s in clock_nanosleep",
            "innermost": {"function": "clock_nanosleep", "image": "libc.so.6", "isApplication": False},
            "calls": [{"function": f"call{n}", "source": f"app.py:{n}", "isApplication": True} for n in range(9)],
            "blame": {"party": "app", "reason": "its own code made the call that blocks"},
        }
        self.assertEqual(
            killed.brief.splitlines(),
            [
                "Main thread sleeps in load (app.py:7)",
                "Main thread blocked 2.00 s in clock_nanosleep",
                "  in   clock_nanosleep in libc.so.6",
                "  from call0 (app.py:0)",
                "  from call1 (app.py:1)",
                "  from call2 (app.py:2)",
                "Fault: app: its own code made the call that blocks",
                "Status: stuck in Store.save (store.py:3) < main (app.py:9)",
                "Crash log: /r/app.ips",
            ],
        )
        self.assertEqual(Result(0, {}, "", "").brief, "")

    def test_each_assertion_fails_on_the_other_end(self):
        exited = Result(3, {"termination": "exited", "exit": {"code": 3}, "incidents": []}, "", "")
        wrong = [
            lambda: exited.assert_killed(),
            lambda: exited.assert_exited(0),
            lambda: exited.assert_healthy(),
            lambda: exited.assert_main_thread_has("main"),
            lambda: exited.assert_fault("app"),
            lambda: self.killed.assert_killed("0xdead10cc"),
            lambda: self.killed.assert_killed(event="process-launch"),
            lambda: self.killed.assert_healthy(),
            lambda: self.killed.assert_main_thread_has("missing"),
            lambda: self.killed.assert_fault("machine"),
        ]
        for assertion in wrong:
            with self.assertRaises(AssertionError):
                assertion()
        exited.assert_exited(3)

    def test_an_empty_result_has_no_facts(self):
        nothing = Result(125, {}, "", "")
        self.assertEqual((nothing.code, nothing.fault, nothing.native_stack, nothing.told_stack), (None, None, [], []))
        self.assertEqual(nothing.describe(), "exit status 125")


class Options(unittest.TestCase):
    """What the supervisor is started with; it is a script that prints its arguments."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        program = Path(temporary.name) / "watchdogd"
        program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        program.chmod(0o755)
        self.supervisor = Supervisor(program=str(program))
        self.addCleanup(self.supervisor.close)

    def words(self, **options):
        """The arguments between the folders of the run and the command."""
        words = self.supervisor.run(["app"], **options).output.splitlines()
        self.assertEqual((words[:2], words[-2:]), (["run", "--json"], ["--", "app"]))
        return words[5:-2]

    def test_one_condition_is_a_string_and_several_are_a_sequence(self):
        self.assertEqual(self.words(), [])
        self.assertEqual(self.words(expect=None), [])
        self.assertEqual(self.words(expect="no hang"), ["--expect", "no hang"])
        self.assertEqual(
            self.words(expect=("ready within 1s", "exit:0")), ["--expect", "ready within 1s", "--expect", "exit:0"]
        )

    def test_faults_and_the_length_of_the_run_are_passed_on(self):
        self.assertEqual(self.words(faults=["cpu 2", "memory 64M"]), ["--fault", "cpu 2", "--fault", "memory 64M"])
        self.assertEqual(self.words(faults="stop 2s at ready"), ["--fault", "stop 2s at ready"])
        self.assertEqual(self.words(run_for=1.5 * SECOND), ["--for", "1500ms"])

    def test_a_run_has_to_be_shorter_than_the_test_waits(self):
        self.assertEqual(self.words(run_for=4 * SECOND, limit=5 * SECOND), ["--for", "4000ms"])
        with self.assertRaisesRegex(ValueError, "run_for=5 s is not shorter than limit=5 s; raise limit"):
            self.words(run_for=5 * SECOND, limit=5 * SECOND)


@unittest.skipIf(missing_program(), missing_program() or "")
class Programs(unittest.TestCase):
    """Under the real supervisor."""

    def setUp(self):
        clean_environment()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.supervisor = Supervisor()
        self.addCleanup(self.supervisor.close)

    def test_the_service_goes_through_its_lifecycle(self):
        result = self.supervisor.run(
            [sys.executable, EXAMPLES / "service.py"], update=2 * SECOND, script=HEALTHY, env=ENVIRONMENT
        )
        result.assert_healthy()
        result.assert_exited(0)
        self.assertIn("event url about:blank", result.output)
        self.assertEqual(result.summary["lifecycle"]["mistakes"], 0)

    def test_a_service_ends_when_it_is_asked_to(self):
        for name in ("service.py", "queue_service.py"):
            with self.subTest(name=name):
                trace = Path(self.folder, f"{name}.trace")
                run = self.supervisor.start(
                    [sys.executable, EXAMPLES / name],
                    ping=SECOND / 10,
                    update=2 * SECOND,
                    env=ENVIRONMENT,
                    arguments=["--trace", str(trace)],
                )
                wait_for_answers(trace, 4, run)
                run.terminate()
                result = run.wait(timedelta(seconds=SOON_SECONDS))
                result.assert_exited(0)
                self.assertEqual((result.termination, result.incidents), ("terminated", []))
                self.assertGreater(result.summary["pings"]["count"], 3)

    def test_the_stuck_service_is_killed_and_the_report_names_its_function(self):
        result = self.supervisor.run(
            [sys.executable, EXAMPLES / "stuck.py"], update=2 * SECOND, ping=SECOND / 5, env=ENVIRONMENT
        )
        result.assert_killed("0x8badf00d", "scene-update")
        result.assert_main_thread_has("load_feed")
        result.assert_fault("app")
        self.assertEqual(result.verdict_kind, "blocked")
        self.assertEqual(result.told_stack[0].split()[0], "load_feed")
        self.assertIn("load_feed", result.native_stack, "watchdogd shows Python's functions itself")

    def test_conditions_are_met_or_not_and_a_failure_says_which(self):
        stuck = {"update": 2 * SECOND, "ping": SECOND / 5, "env": ENVIRONMENT}
        met = ["killed 0x8badf00d:scene-update", "frame load_feed"]
        result = self.supervisor.run([sys.executable, EXAMPLES / "stuck.py"], expect=met, **stuck)
        self.assertEqual(result.exit_status, 0, result.messages)
        result = self.supervisor.run([sys.executable, EXAMPLES / "stuck.py"], expect=[*met, "no incident"], **stuck)
        self.assertEqual(result.exit_status, 1)
        with self.assertRaisesRegex(AssertionError, "expected no incident, but 0x8badf00d:scene-update was reported"):
            result.assert_healthy()

    def test_a_fault_is_injected_and_the_run_ends_after_its_time(self):
        result = self.supervisor.run(
            ["/bin/sleep", "600"],
            readiness="none",
            expect="no incident",
            faults=["stop 200ms at +100ms"],
            run_for=SECOND,
        )
        result.assert_healthy()
        self.assertEqual(result.termination, "terminated")
        self.assertEqual(len(result.summary["faults"]), 1)

    def test_a_program_that_takes_too_long_is_ended(self):
        marker = f"sleep-{os.getpid()}-{id(self)}"
        with self.assertRaisesRegex(TimedOut, "not ended within 0.5 s"):
            self.supervisor.run(["/bin/sh", "-c", f": {marker}; sleep 600 & wait"], limit=SECOND / 2)
        self.assertEqual(wait_until_gone(marker), [])

    def test_an_unknown_command_is_told(self):
        result = self.supervisor.run(["/nonexistent/program"])
        self.assertEqual(result.exit_status, 127)
        with self.assertRaisesRegex(AssertionError, "nonexistent"):
            result.assert_exited(0)


RED_AND_GREEN = """
import sys
from datetime import timedelta

SECOND = timedelta(seconds=1)

def test_green(watchdogd):
    result = watchdogd.run([sys.executable, {stuck!r}], update=SECOND, ping=SECOND / 5)
    result.assert_killed("0x8badf00d", "scene-update")
    result.assert_main_thread_has("load_feed")

def test_red(watchdogd):
    watchdogd.run([sys.executable, {stuck!r}], update=2 * SECOND, ping=SECOND / 5).assert_exited(0)

def test_left(watchdogd):
    watchdogd.start(["/bin/sh", "-c", ": {marker}; sleep 600; :"])
"""

FOREVER = """
def test_forever(watchdogd):
    watchdogd.run(["/bin/sh", "-c", ": {marker}; echo up > {up}; sleep 600; :"])
"""


MEASURED = """#!/bin/sh
printf '%s\\n' "$@" > {folder}/words
cat {folder}/answer
exit {code}
"""


class Launches(unittest.TestCase):
    """assert_launch(), with a program in the place of watchdogd that answers what the test says."""

    def setUp(self):
        clean_environment()
        os.environ.pop(RECORD_VARIABLE, None)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(os.environ.pop, RECORD_VARIABLE, None)
        self.folder = Path(temporary.name)
        self.baseline = self.folder / "base" / "launch.json"

    def check(self, answer, code=0, **options):
        program = self.folder / "watchdogd"
        program.write_text(MEASURED.format(folder=self.folder, code=code))
        program.chmod(0o755)
        (self.folder / "answer").write_text(answer)
        with Supervisor(self.folder / "runs", program=str(program)) as supervisor:
            supervisor.assert_launch(["/bin/app", "-x"], self.baseline, **options)
        return (self.folder / "words").read_text().splitlines()

    def test_a_baseline_is_written_on_request_and_compared_otherwise(self):
        with self.assertRaisesRegex(AssertionError, "write it with WATCHDOGD_RECORD_BASELINES=1"):
            self.check('{"checks": []}')
        os.environ[RECORD_VARIABLE] = "1"
        words = self.check('{"checks": []}', until="ready", within=timedelta(milliseconds=400))
        self.assertEqual(words[words.index("--save-baseline") + 1], str(self.baseline))
        self.assertEqual(words[-3:], ["--", "/bin/app", "-x"])
        self.assertEqual(words[words.index("--max") + 1], "400ms")
        self.assertEqual(words[words.index("--until") + 1], "ready")
        os.environ[RECORD_VARIABLE] = "0"
        self.baseline.write_text("{}")
        words = self.check('{"checks": [{"name": "max", "outcome": "passed", "text": ""}]}')
        self.assertEqual(words[words.index("--baseline") + 1], str(self.baseline))

    def test_a_check_that_failed_comes_with_the_phases_that_grew(self):
        self.baseline.parent.mkdir()
        self.baseline.write_text("{}")
        phases = '{"name": "baseline phases", "outcome": "advice", "text": "CPU time grew: main 2 ms to 4 ms"}'
        faults = '{"name": "baseline minor faults", "outcome": "failed", "text": "1200"}'
        self.check(f'{{"checks": [{phases}]}}')
        with self.assertRaises(AssertionError) as failure:
            self.check(f'{{"checks": [{faults}, {phases}]}}', code=1)
        self.assertIn("baseline minor faults: 1200\nbaseline phases: CPU time grew: main", str(failure.exception))
        with self.assertRaisesRegex(AssertionError, "runs: undecided: no run was warm"):
            self.check('{"checks": [{"name": "runs", "outcome": "unclear", "text": "no run was warm"}]}', code=2)
        with self.assertRaisesRegex(AssertionError, "could not be measured"):
            self.check("", code=70)


@unittest.skipIf(importlib.util.find_spec("pytest") is None, f"{sys.executable} has no pytest; install python3-pytest")
class Plugin(unittest.TestCase):
    """pytest itself, in a process of its own."""

    def setUp(self):
        clean_environment()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.marker = f"left-{os.getpid()}-{self.folder.name}"

    def start(self, text, **environment):
        (self.folder / "test_it.py").write_text(text)
        words = ["-m", "pytest", "-q", "-rA", "-p", "watchdogd.pytest_plugin", "-p", "no:cacheprovider", "test_it.py"]
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.folder,
            env=dict(os.environ, PYTHONPATH=str(SOURCES), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

        def clean():
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=SOON_SECONDS)

        self.addCleanup(clean)
        return process

    @unittest.skipIf(missing_program(), missing_program() or "")
    def test_red_shows_the_crash_log_and_green_does_not(self):
        text = RED_AND_GREEN.format(stuck=str(EXAMPLES / "stuck.py"), marker=self.marker)
        process = self.start(text)
        shown, _ = process.communicate(timeout=PYTEST_LIMIT_SECONDS)
        self.assertIn("2 passed", shown)
        self.assertIn("1 failed", shown)
        self.assertRegex(shown, r"FAILED test_it\.py::test_red")
        self.assertIn("expected: an end with exit code 0", shown)
        self.assertIn("came:     a kill by the watchdog (0x8badf00d:scene-update)", shown)
        self.assertRegex(shown, r"verdict:  Main thread .* · blocked")
        self.assertEqual(shown.count("watchdogd: crash log of run 1"), 1)
        self.assertIn("Status: stuck in load_feed", shown)
        self.assertEqual(wait_until_gone(self.marker), [])

    @unittest.skipIf(missing_program(), missing_program() or "")
    def test_nothing_is_left_when_the_runner_is_killed(self):
        up = self.folder / "up"
        process = self.start(FOREVER.format(marker=self.marker, up=up))
        ends = time.monotonic() + SOON_SECONDS
        while not up.exists() and time.monotonic() < ends:
            time.sleep(0.02)
        self.assertTrue(up.exists())
        process.send_signal(signal.SIGKILL)
        process.wait(SOON_SECONDS)
        self.assertEqual(wait_until_gone(self.marker), [])

    def test_without_the_supervisor_a_test_is_skipped_with_the_reason(self):
        process = self.start("def test_it(watchdogd): assert False\n", WATCHDOGD_PROGRAM="/nonexistent")
        shown, _ = process.communicate(timeout=PYTEST_LIMIT_SECONDS)
        self.assertIn("1 skipped", shown)
        self.assertIn("WATCHDOGD_PROGRAM names '/nonexistent'", shown)


if __name__ == "__main__":
    unittest.main()
