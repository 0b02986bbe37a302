# SPDX-License-Identifier: Apache-2.0
"""What the tests of the client share."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from scripted import Supervisor  # noqa: E402

from watchdogd._app import App, Handlers  # noqa: E402
from watchdogd._link import Link  # noqa: E402

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def change(**values):
    def apply(message):
        for name, value in values.items():
            setattr(message, name, value)

    return apply


class Case(unittest.TestCase):
    def new_app(self):
        app = App()
        self.addCleanup(app.abandon)
        return app


class ChannelCase(Case):
    """One app of this process with a channel."""

    def setUp(self):
        self.supervisor = Supervisor()
        self.addCleanup(self.supervisor.close)

    def attach(self, lifecycle=False, **handlers):
        self.app = self.new_app()
        self.supervisor.offer()
        self.app.attach(Handlers(**handlers), lifecycle)
        self.link = Link(self.app)
        return self.link
