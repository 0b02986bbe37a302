# SPDX-License-Identifier: Apache-2.0
"""The fixture `watchdogd` for pytest: runs any program under the real supervisor.

::

    def test_the_service_survives_a_slow_feed(watchdogd):
        result = watchdogd.run([sys.executable, "service.py"], update=timedelta(seconds=1), limit=timedelta(seconds=20))
        result.assert_healthy()

The crash log of a run stands in the report of a test that has failed. A test is skipped where there is no watchdogd.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest

from .testing import ProgramNotFound, Supervisor

_SUPERVISOR_ATTRIBUTE = "_watchdogd_supervisor"
#: The most of a crash log that a report of pytest shows; the file has the rest.
_SHOWN_LINES = 120


@pytest.fixture
def watchdogd(request: Any, tmp_path: Path) -> Iterator[Supervisor]:
    """Runs programs under watchdogd, and ends what is left of them with the test."""
    try:
        supervisor = Supervisor(tmp_path / "watchdogd")
    except ProgramNotFound as error:
        pytest.skip(str(error))
    setattr(request.node, _SUPERVISOR_ATTRIBUTE, supervisor)
    with supervisor:
        yield supervisor


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """Adds what was reported to a test that has failed."""
    outcome: Any = yield
    report = outcome.get_result()
    supervisor = getattr(item, _SUPERVISOR_ATTRIBUTE, None)
    if supervisor is None or not report.failed or call.when != "call":
        return
    for number, result in enumerate(supervisor.results, 1):
        if result.crash_log:
            lines = result.crash_log.splitlines()
            if len(lines) > _SHOWN_LINES:
                lines[_SHOWN_LINES:] = [f"... {len(lines) - _SHOWN_LINES} more lines: {result.report_path}"]
            report.sections.append((f"watchdogd: crash log of run {number}", "\n".join(lines)))
        if result.output.strip():
            report.sections.append((f"watchdogd: output of run {number}", result.output))
