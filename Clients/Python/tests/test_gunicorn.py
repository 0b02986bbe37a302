# SPDX-License-Identifier: Apache-2.0
"""Gunicorn under the real supervisor."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from scripted import SOURCES, clean_environment  # noqa: E402
from test_plugin import SOON_SECONDS, missing_program  # noqa: E402

from watchdogd.testing import Supervisor  # noqa: E402

SECOND = timedelta(seconds=1)

APPLICATION = """
import os, time

def app(environment, start):
    if environment["PATH_INFO"] == "/stuck":
        time.sleep(60)
    start("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""

CONFIGURATION = """
from watchdogd.gunicorn import *
bind = "unix:{folder}/socket"
"""

GREEN = """
launch
wait ready within 20s
sleep 3s
expect alive
terminate
expect exited 0
"""


def request(folder: Path, path: str) -> str:
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(SOON_SECONDS)
        end.connect(f"{folder}/socket")
        end.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        answer = b""
        while chunk := end.recv(4096):
            answer += chunk
    return answer.decode().rpartition("\r\n")[2]


class Import(unittest.TestCase):
    def test_the_hooks_can_be_imported_without_gunicorn(self):
        program = "import sys; sys.modules['gunicorn'] = None; import watchdogd.gunicorn as g; print(*g.__all__)"
        environment = dict(os.environ, PYTHONPATH=str(SOURCES))
        output = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=SOON_SECONDS
        ).stdout
        self.assertEqual(output.split(), ["on_starting", "when_ready", "post_worker_init", "on_exit"])


@unittest.skipIf(missing_program(), missing_program() or "")
@unittest.skipIf(importlib.util.find_spec("gunicorn") is None, f"{sys.executable} has no gunicorn; install gunicorn")
class Servers(unittest.TestCase):
    def setUp(self):
        clean_environment()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        (self.folder / "application.py").write_text(APPLICATION)
        (self.folder / "gunicorn.conf.py").write_text(CONFIGURATION.format(folder=self.folder))
        self.supervisor = Supervisor()
        self.addCleanup(self.supervisor.close)

    def start(self, *arguments, **options):
        return self.supervisor.start(
            [sys.executable, "-m", "gunicorn", *arguments, "application:app"],
            cwd=self.folder,
            env={"PYTHONPATH": str(SOURCES)},
            readiness="channel",
            ping=SECOND / 4,
            **options,
        )

    def wait_until_it_serves(self):
        ends = time.monotonic() + SOON_SECONDS
        while True:
            try:
                return request(self.folder, "/")
            except OSError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def test_healthy_servers_answer_at_once_and_end_when_they_are_asked_to(self):
        for arguments in (["-w", "1"], ["-w", "2"], ["-w", "1", "-k", "gthread", "--threads", "2"]):
            with self.subTest(arguments=arguments):
                result = self.start(*arguments, update=3 * SECOND, script=GREEN).wait()
                result.assert_healthy()
                result.assert_exited(0)
                self.assertGreater(result.summary["pings"]["count"], 3)
                self.assertLess(result.summary["pings"]["p50Milliseconds"], 500)

    def test_a_stuck_request_is_a_hang_of_the_only_worker(self):
        run = self.start("-w", "1", update=2 * SECOND)
        self.wait_until_it_serves()
        client = threading.Thread(target=lambda: request(self.folder, "/stuck"), daemon=True)
        client.start()
        result = run.wait(timedelta(seconds=SOON_SECONDS))
        client.join(SOON_SECONDS)
        result.assert_killed("0x8badf00d", "scene-update")

    def test_a_worker_that_replaces_another_answers_for_it(self):
        run = self.start("-w", "1", "--max-requests", "2", update=5 * SECOND)
        workers = {self.wait_until_it_serves()}
        for _ in range(3):
            workers.add(self.wait_until_it_serves())
        self.assertGreater(len(workers), 1)
        time.sleep(2)
        self.assertTrue(run.is_running)
        run.terminate()
        result = run.wait(timedelta(seconds=SOON_SECONDS))
        result.assert_exited(0)
        self.assertEqual(result.incidents, [])


if __name__ == "__main__":
    unittest.main()
