# SPDX-License-Identifier: Apache-2.0
"""The fixture `watchdogd` for pytest: runs any program under the real supervisor.

::

    def test_the_service_survives_a_slow_feed(watchdogd):
        result = watchdogd.run([sys.executable, "service.py"], update=timedelta(seconds=1), limit=timedelta(seconds=20))
        result.assert_healthy()

The report of a test that has failed has the gist of the crash log of each run, and its path. A test is skipped where there is no watchdogd.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest

from .testing import ProgramNotFound, Supervisor

_SUPERVISOR_ATTRIBUTE = "_watchdogd_supervisor"


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
        if result.brief:
            report.sections.append((f"watchdogd: crash log of run {number}", result.brief))
        if result.output.strip():
            report.sections.append((f"watchdogd: output of run {number}", result.output))
