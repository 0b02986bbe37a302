# SPDX-License-Identifier: Apache-2.0
"""The service must answer while its feed does not."""

import socket
import sys
from datetime import timedelta
from pathlib import Path

import pytest

SERVICE = Path(__file__).with_name("service.py")
SCRIPT = """
    launch
    wait ready within 30s
    sleep 2s
    expect alive
    terminate
    expect exited 0
"""


@pytest.fixture
def silent_server():
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_silent_feed_does_not_stop_the_service(watchdogd, silent_server):
    command = [sys.executable, str(SERVICE), str(silent_server), "--repaired"]
    watchdogd.run(command, update=timedelta(seconds=1), script=SCRIPT).assert_healthy()


def test_the_first_version_hangs(watchdogd, silent_server):
    command = [sys.executable, str(SERVICE), str(silent_server)]
    result = watchdogd.run(command, update=timedelta(seconds=1))
    result.assert_killed("0x8badf00d", "scene-update")
    result.assert_main_thread_has("load_feed")
    result.assert_fault("app")
