# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the real supervisor, for tests with any framework; watchdogd.pytest_plugin has the fixture.

::

    with Supervisor() as supervisor:
        result = supervisor.run([sys.executable, "service.py"], update=timedelta(seconds=1))
        result.assert_exited(0)
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, Mapping, Sequence

from ._stack import PREFIX as _TOLD_STACK_PREFIX

#: Where the supervisor is looked for before PATH.
PROGRAM_VARIABLE = "WATCHDOGD_PROGRAM"
#: With 1, assert_launch() writes baselines instead of comparing with them.
RECORD_VARIABLE = "WATCHDOGD_RECORD_BASELINES"
#: How long a program may run unless the test says otherwise.
DEFAULT_LIMIT = timedelta(seconds=60)

#: What the supervisor has, beyond the program's terminate allowance, to end the program and write its summary.
_END_SECONDS = 10.0
#: What the supervisor has after the second request, which kills the program at once.
_KILL_SECONDS = 5.0
_REPORT_COMMAND_SECONDS = 30.0
#: The most of a program's output, and of a report, that is kept.
_OUTPUT_LIMIT_BYTES = 16 << 20

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class ProgramNotFound(Exception):
    """There is no watchdogd on PATH."""


class TimedOut(AssertionError):
    """The program has not ended in time; it was ended by force."""


def find_program() -> str:
    """The path of watchdogd: WATCHDOGD_PROGRAM, or else what is on PATH."""
    named = os.environ.get(PROGRAM_VARIABLE)
    found = shutil.which(named or "watchdogd")
    if found is None:
        where = f"{PROGRAM_VARIABLE} names {named!r}, which cannot be executed" if named else "watchdogd is not on PATH"
        raise ProgramNotFound(f"{where}; install it, or set {PROGRAM_VARIABLE} to its path")
    return found


# MARK: - What came of it


@dataclass
class Result:
    """How a program ended under the supervisor."""

    #: What `watchdogd run` ended with: the program's own exit code, 128 + signal, or 137 after a kill by the watchdog;
    #: with a script or conditions 0 if all came as they say, and 1 if not.
    exit_status: int
    #: The summary of `--json`; empty when the program was never launched.
    summary: dict[str, Any] = field(repr=False)
    #: The program's standard output.
    output: str
    #: Its standard error, to which watchdogd writes as well.
    messages: str
    #: The body of the latest report, or None.
    report: dict[str, Any] | None = field(default=None, repr=False)
    #: Its file.
    report_path: Path | None = None
    #: The same in words.
    crash_log: str = field(default="", repr=False)
    _explanation: dict[str, Any] = field(default_factory=dict, repr=False)

    # MARK: - Facts

    @property
    def termination(self) -> str | None:
        """`exited`, `terminated` (on request), `killedOnRequest`, `watchdog` or `spawnFailed`."""
        termination = self.summary.get("termination")
        return termination if isinstance(termination, str) else None

    @property
    def exit_code(self) -> int | None:
        """The program's own exit code; None when a signal ended it."""
        code = self.summary.get("exit", {}).get("code")
        return code if isinstance(code, int) else None

    @property
    def was_killed(self) -> bool:
        """True when the watchdog killed it."""
        return self.termination == "watchdog"

    @property
    def code(self) -> str | None:
        """The code of the latest incident, such as `0x8badf00d`."""
        return self._incident.get("code")

    @property
    def event(self) -> str | None:
        """What the program was watched for then, such as `scene-update`."""
        return self._incident.get("event")

    @property
    def verdict(self) -> str | None:
        """What the main thread did with the time, in words."""
        return self._incident.get("verdict")

    @property
    def verdict_kind(self) -> str | None:
        """The same in one word, such as `blocked`."""
        return self._incident.get("verdictKind")

    @property
    def fault(self) -> str | None:
        """Whose fault it is by the evidence, such as `app` or `machine`."""
        party = self._explanation.get("blame", {}).get("party")
        return party if isinstance(party, str) else None

    @property
    def incidents(self) -> list[dict[str, Any]]:
        """All incidents, each with event, code and verdict."""
        return list(self.summary.get("incidents") or [])

    @property
    def _incident(self) -> dict[str, Any]:
        return self.incidents[-1] if self.incidents else {}

    @property
    def native_stack(self) -> list[str]:
        """The functions of the faulting thread, innermost first, as far as they have names."""
        report = self.report or {}
        threads = report.get("threads") or []
        index = report.get("faultingThread", 0)
        if not isinstance(index, int) or not 0 <= index < len(threads):
            return []
        return [frame["symbol"] for frame in threads[index].get("frames", []) if frame.get("symbol")]

    @property
    def told_stack(self) -> list[str]:
        """The Python functions that the program has told itself (`tell_stack=True`), innermost first."""
        status = ((self.report or {}).get("linux") or {}).get("status") or ""
        return status.removeprefix(_TOLD_STACK_PREFIX).split(" < ") if status.startswith(_TOLD_STACK_PREFIX) else []

    def main_thread_has(self, function: str) -> bool:
        """True when the main thread was in a function of this name, as the native stack or the program itself tells."""
        name = re.compile(rf"(?<![\w]){re.escape(function)}(?![\w])")
        return any(name.search(call) for call in self.native_stack + self.told_stack)

    # MARK: - Assertions

    def assert_killed(self, code: str = "0x8badf00d", event: str | None = None) -> None:
        """Fails unless the watchdog killed the program under this code, and for this event if one is given."""
        __tracebackhide__ = True
        expected = code if event is None else f"{code}:{event}"
        if not self.was_killed or self.code != code or event not in (None, self.event):
            self._fail(f"a kill by the watchdog ({expected})")

    def assert_exited(self, code: int = 0) -> None:
        """Fails unless the program ended by itself or on request with this exit code."""
        __tracebackhide__ = True
        if self.termination not in ("exited", "terminated") or self.exit_code != code:
            self._fail(f"an end with exit code {code}")

    def assert_healthy(self) -> None:
        """Fails when there was an incident, or when the run did not end with 0."""
        __tracebackhide__ = True
        if self.incidents or self.exit_status != 0:
            self._fail("no incident, and exit status 0")

    def assert_main_thread_has(self, function: str) -> None:
        """Fails unless the main thread was in a function of this name."""
        __tracebackhide__ = True
        if not self.main_thread_has(function):
            calls = " < ".join(self.told_stack or self.native_stack) or "no named function"
            self._fail(f"{function} on the main thread", calls)

    def assert_fault(self, party: str) -> None:
        """Fails unless this one is to blame: `app`, `machine`, ..."""
        __tracebackhide__ = True
        if self.fault != party:
            self._fail(f"the fault to be of: {party}", f"{self.fault or 'nobody'}")

    def describe(self) -> str:
        """How it ended, in one line."""
        end = self.summary.get("exit", {})
        if self.was_killed:
            return f"a kill by the watchdog ({self.code}:{self.event})"
        if "code" in end:
            return f"an end with exit code {end['code']}" + (f", after {self.code}:{self.event}" if self.code else "")
        if "signal" in end:
            return f"an end by {end['signal']}"
        return f"exit status {self.exit_status}"

    @property
    def brief(self) -> str:
        """At most ten lines about the crash log: who is stuck, on what, whose fault it is, and where the file is."""
        known = self._explanation
        lines = [str(known[key]) for key in ("culprit", "verdict") if known.get(key)]
        calls = [call for call in [known.get("innermost"), *(known.get("calls") or [])] if isinstance(call, dict)]
        shown: list[str] = []
        for call in calls:
            place = f" ({call['source']})" if call.get("source") else ""
            line = f"{call.get('function')}{place}" + ("" if call.get("isApplication") else f" in {call.get('image')}")
            if line not in shown:
                shown.append(line)
        lines += [("  in   " if number == 0 else "  from ") + line for number, line in enumerate(shown[:4])]
        blame = known.get("blame")
        if isinstance(blame, dict) and blame.get("party"):
            reason = f": {blame['reason']}" if blame.get("reason") else ""
            lines.append(f"Fault: {blame['party']}{reason}")
        status = ((self.report or {}).get("linux") or {}).get("status")
        if status:
            lines.append(f"Status: {status}")
        if self.report_path is not None:
            lines.append(f"Crash log: {self.report_path}")
        return "\n".join(lines)

    def _fail(self, expected: str, came: str | None = None) -> None:
        __tracebackhide__ = True
        lines = [f"expected: {expected}", f"came:     {came or self.describe()}"]
        if self.verdict:
            lines.append(f"verdict:  {self.verdict}")
        if self.messages.strip():
            lines.append("standard error:")
            lines += ["  " + line for line in self.messages.strip().splitlines()[-10:]]
        raise AssertionError("\n".join(lines))


# MARK: - Running


class Run:
    """A program that runs under the supervisor."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        folder: Path,
        output: IO[bytes],
        messages: IO[bytes],
        end_seconds: float,
        program: str,
    ) -> None:
        self._process = process
        self._folder = folder
        self._output = output
        self._messages = messages
        self._end_seconds = end_seconds
        self._program = program
        self._result: Result | None = None

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        """The program's standard output so far."""
        return _read(self._folder / "output")

    def terminate(self) -> None:
        """Asks the program to end, as SIGTERM to watchdogd does."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, limit: timedelta = DEFAULT_LIMIT) -> Result:
        """Waits for the end. Raises TimedOut, and ends the program by force, when it has not come in time."""
        if self._result is None:
            try:
                self._process.wait(limit.total_seconds())
            except subprocess.TimeoutExpired:
                self.end()
                said = "\n".join(text for text in (self.output[-2000:], _read(self._folder / "messages")) if text)
                raise TimedOut(f"the program has not ended within {limit.total_seconds():g} s\n{said}") from None
            self._result = self._collect()
        return self._result

    def end(self) -> None:
        """Ends the program, by force if need be. Nothing of it is left when this returns."""
        if self.is_running:
            others = _descendants(self._process.pid)
            try:
                self.terminate()
                if not self._ends(self._end_seconds):
                    # The second request kills the program at once.
                    self.terminate()
                    if not self._ends(_KILL_SECONDS):
                        self._process.kill()
                        self._process.wait(_KILL_SECONDS)
                        for descriptor in others:
                            _kill(descriptor)
            finally:
                for descriptor in others:
                    os.close(descriptor)
        self._output.close()
        self._messages.close()

    def _ends(self, limit_seconds: float) -> bool:
        try:
            self._process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _collect(self) -> Result:
        result = Result(
            exit_status=self._process.returncode,
            summary=_json(_read(self._folder / "summary.json")),
            output=_read(self._folder / "output"),
            messages=_read(self._folder / "messages"),
        )
        path = result.summary.get("report")
        if isinstance(path, str) and Path(path).is_file():
            result.report_path = Path(path)
            # The first line is the metadata, the rest the body.
            result.report = _json(_read(result.report_path).partition("\n")[2])
            result.crash_log = self._ask("show", path)
            result._explanation = _json(self._ask("explain", "--json", path))
        return result

    def _ask(self, *words: str) -> str:
        try:
            answer = subprocess.run(
                [self._program, "report", *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_REPORT_COMMAND_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return answer.stdout.decode("utf-8", "replace")


class Supervisor:
    """Runs programs under `watchdogd run`, and leaves none behind. A context manager."""

    def __init__(self, folder: Path | None = None, program: str | None = None) -> None:
        self._program = program or find_program()
        self._temporary = tempfile.TemporaryDirectory(prefix="watchdogd-") if folder is None else None
        self._folder = Path(self._temporary.name) if self._temporary is not None else Path(folder or ".")
        self._runs: list[Run] = []

    @property
    def results(self) -> list[Result]:
        """What came of the runs that have ended."""
        return [run._result for run in self._runs if run._result is not None]

    def run(self, command: Sequence[str | Path], *, limit: timedelta = DEFAULT_LIMIT, **options: Any) -> Result:
        """Runs a program to its end; the options are those of start().

        Raises ValueError when `run_for` is not shorter than `limit`: the test would fail before the run ends.
        """
        run_for = options.get("run_for")
        if run_for is not None and run_for >= limit:
            spans = f"run_for={run_for.total_seconds():g} s is not shorter than limit={limit.total_seconds():g} s"
            raise ValueError(f"{spans}; raise limit")
        return self.start(command, **options).wait(limit)

    def start(
        self,
        command: Sequence[str | Path],
        *,
        launch: timedelta | None = None,
        update: timedelta | None = None,
        terminate: timedelta | None = None,
        ping: timedelta | None = None,
        time_scale: float | None = None,
        readiness: str | None = None,
        expect: str | Sequence[str] | None = None,
        faults: str | Sequence[str] = (),
        run_for: timedelta | None = None,
        script: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        arguments: Sequence[str] = (),
    ) -> Run:
        """Starts a program under the supervisor.

        Call it on a thread that lives as long as the program: the kernel has watchdogd end with it (PR_SET_PDEATHSIG).

        launch, update, terminate, ping: the allowances, and the time between pings; watchdogd's own by default.
        time_scale: multiplies all of them.
        expect: one condition or several, such as `0x8badf00d:scene-update` or `no hang over 250ms`; the exit status is
            then 0 if all are met, and else 1.
        faults: what goes wrong, and when, such as `stop 2s at ready+1s`.
        run_for: the program is terminated this long after its launch; time_scale does not multiply it.
        script: the text of a lifecycle script; the exit status is then 0 if every step succeeds, and else 1.
        env: variables for the program, besides those of this process.
        arguments: more options of `watchdogd run`.
        """
        folder = self._folder / f"run{len(self._runs) + 1}"
        folder.mkdir(parents=True)
        words = [self._program, "run", "--json", str(folder / "summary.json"), "--reports", str(folder / "reports")]
        spans = {"--launch": launch, "--update": update, "--terminate": terminate, "--ping": ping, "--for": run_for}
        for option, span in spans.items():
            if span is not None:
                words += [option, f"{max(1, span // timedelta(milliseconds=1))}ms"]
        texts = {"--time-scale": time_scale, "--readiness": readiness, "--chdir": cwd}
        for option, text in texts.items():
            if text is not None:
                words += [option, str(text)]
        for option, values in {"--expect": expect, "--fault": faults}.items():
            for value in [values] if isinstance(values, str) else values or ():
                words += [option, value]
        if script is not None:
            (folder / "script.wds").write_text(script)
            words += ["--script", str(folder / "script.wds")]
        for name, value in (env or {}).items():
            words += ["--env", f"{name}={value}"]
        words += [*arguments, "--", *[str(word) for word in command]]
        allowance_seconds = (terminate or timedelta(seconds=5)).total_seconds() * max(1.0, time_scale or 1.0)
        run = self._launch(words, folder, allowance_seconds + _END_SECONDS)
        self._runs.append(run)
        return run

    def assert_launch(
        self,
        command: Sequence[str | Path],
        baseline: Path | str,
        *,
        until: str | None = None,
        within: timedelta | None = None,
        runs: int = 5,
        limit: timedelta = timedelta(minutes=10),
        arguments: Sequence[str] = (),
    ) -> None:
        """Fails when a program launches slower than its baseline says, with the phases of the launch that grew.

        One launch is discarded, and `runs` count. The baseline belongs into the repository; with
        WATCHDOGD_RECORD_BASELINES=1, it is written instead of checked.

        until: what ends a launch: `ready`, `first-frame`, `useful`, `listen`, `idle` or `exit`; by default what ends the
            first one.
        within: the longest median wall time.
        limit: how long all launches may take.
        arguments: more options of `watchdogd measure`, such as `--env NAME=VALUE`.
        """
        __tracebackhide__ = True
        path = Path(baseline)
        is_recorded = os.environ.get(RECORD_VARIABLE, "0") not in ("", "0")
        if is_recorded:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise AssertionError(f"there is no baseline {path}; write it with {RECORD_VARIABLE}=1, and commit it")
        words = [self._program, "measure", "--json", "--runs", str(runs), "--discard", "1"]
        words += ["--save-baseline" if is_recorded else "--baseline", str(path)]
        if until is not None:
            words += ["--until", until]
        if within is not None:
            words += ["--max", f"{max(1, within // timedelta(milliseconds=1))}ms"]
        words += [*arguments, "--", *[str(word) for word in command]]
        # SIGTERM has it end the program first.
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            try:
                output, messages = process.communicate(timeout=limit.total_seconds())
            except BaseException as error:
                process.terminate()
                process.wait(_END_SECONDS)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise TimedOut(f"the launches have not ended within {limit.total_seconds():g} s") from None
        checks = _json(output.decode("utf-8", "replace")).get("checks")
        if not isinstance(checks, list):
            raise AssertionError(f"could not be measured: {messages.decode('utf-8', 'replace').strip()}")
        failed = [check for check in checks if check.get("outcome") in ("failed", "unclear")]
        if failed:
            told = [
                check
                for check in checks
                if check in failed or (check.get("outcome"), check.get("name")) == ("advice", "baseline phases")
            ]
            lines = [
                f"{check['name']}: {'undecided: ' if check['outcome'] == 'unclear' else ''}{check['text']}" for check in told
            ]
            raise AssertionError("\n".join([f"expected: a launch as fast as {path} says", *lines]))

    def _launch(self, words: list[str], folder: Path, end_seconds: float) -> Run:
        output, messages = open(folder / "output", "wb"), open(folder / "messages", "wb")
        parent = os.getpid()

        def end_with_parent() -> None:
            # SIGTERM lets watchdogd end the program, which a SIGKILL would leave behind.
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=messages,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        except BaseException:
            output.close()
            messages.close()
            raise
        return Run(process, folder, output, messages, end_seconds, self._program)

    def close(self) -> None:
        """Ends what still runs."""
        failure: Exception | None = None
        for run in self._runs:
            try:
                run.end()
            except Exception as error:  # The others have to end all the same.
                failure = failure or error
        if self._temporary is not None:
            self._temporary.cleanup()
        if failure is not None:
            raise failure

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


# MARK: - Processes and files


def _descendants(root: int) -> list[int]:
    """A pidfd for each process that descends from `root`; the caller closes them."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            # The name in parentheses may hold anything; what follows the last one does not.
            facts = Path(f"/proc/{name}/stat").read_text(errors="replace")
            parents[int(name)] = int(facts.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    found = {root}
    grown = True
    while grown:
        more = {process for process, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    descriptors: list[int] = []
    for process in sorted(found - {root}):
        try:
            descriptors.append(os.pidfd_open(process))
        except OSError:
            continue
    return descriptors


def _kill(descriptor: int) -> None:
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return
    select.select([descriptor], [], [], _KILL_SECONDS)


def _read(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_OUTPUT_LIMIT_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
