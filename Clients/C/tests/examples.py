# SPDX-License-Identifier: Apache-2.0
"""The examples, and the glue that they use."""

import os
import signal
import subprocess
import time

from app import App, BUILD, LIMIT_S, SANITIZERS, Skip, WARNINGS, notify_socket, pkg_config


def example_service(program):
    require(program)
    with App(program) as app:
        assert app.greeting[-1] == "LIFECYCLE=1", app.greeting
        heard = []
        while "USEFUL=1" not in heard:
            heard += app.hear()
        assert heard == ["BEGIN_LAUNCH_TASK=warm up", "FIRST_FRAME=1", "READY=1", "END_LAUNCH_TASK=warm up", "USEFUL=1"]
        app.ping(1)
        app.say("STATE=background\nSTATE_ID=1\nBACKGROUND_USEC=1000000")
        app.expect("BEGIN_TASK=1 save")
        app.expect("END_TASK=1")
        app.expect("STATE_DONE=1")
        app.say("EVENT=url\nEVENT_ID=1\nPAYLOAD=x")
        app.expect("EVENT_DONE=1")
        app.say("TERMINATE=1")
        app.expect("STOPPING=1")
        assert app.process.wait(LIMIT_S) == 0
    with App(program) as app:
        app.channel.close()
        lines = app.lines_until("service: the supervisor is gone")
        assert lines == [], lines
        before = app.cpu_seconds()
        time.sleep(0.5)
        assert app.cpu_seconds() - before < 0.1, "a busy loop"
        app.process.send_signal(signal.SIGTERM)
        assert app.process.wait(LIMIT_S) == 0


def glue(name):
    pkg_config(name)
    program = name
    with App(program) as app:
        app.expect("READY=1")
        for nonce in range(100):
            app.ping(nonce)
        app.say("TERMINATE=1")
        app.expect("STOPPING=1")
        assert app.process.wait(LIMIT_S) == 0, app.errors()
    with App(program) as app:
        app.expect("READY=1")
        app.channel.close()
        time.sleep(0.1)
        before = app.cpu_seconds()
        time.sleep(0.5)
        assert app.process.poll() is None, "has ended"
        assert app.cpu_seconds() - before < 0.1, "a busy loop"
        app.process.send_signal(signal.SIGTERM)
        assert app.process.wait(LIMIT_S) == 0, app.errors()
    with notify_socket() as (ours, address):
        values = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "100000"}
        began = time.monotonic()
        with App(program, channel=False, environment=values) as app:
            heard = [ours.recv(4096) for _ in range(16)]
            assert heard.count(b"READY=1\n") == 1 and heard.count(b"WATCHDOG=1\n") == 15, heard
            # From its start, for what lies in the socket already is read at once.
            assert 0.6 < time.monotonic() - began < LIMIT_S, time.monotonic() - began
            before = app.cpu_seconds()
            time.sleep(0.3)
            assert app.cpu_seconds() - before < 0.1, "a busy loop"
    with App(program, channel=False) as app:
        app.await_heeding(signal.SIGTERM)
        app.process.send_signal(signal.SIGTERM)
        assert app.process.wait(LIMIT_S) == 0, app.errors()


def glue_wakes(name):
    """Words that have to wait go out in time although nothing else wakes the loop."""
    flags = pkg_config(name)
    program = "talk-" + name
    # sd-event is not for several threads, and libevent not without its library for them.
    threads = ["-DTALK_ON_THREAD"] if name in ("glib", "libuv") else []
    subprocess.run(["cc", *WARNINGS, *SANITIZERS, *threads, "-include", "tests/talk.h", f"examples/{name}.c",
                    "build/watchdog-sanitized.o", *flags, "-o", f"build/{program}"], check=True)
    with App(program) as app:
        heard = []
        while "STATUS=word 50" not in heard:
            heard += app.hear()
        app.ping(1)
        app.say("TERMINATE=1")
        app.expect("STOPPING=1")
        code = app.process.wait(LIMIT_S)
        assert code == 0, f"exit code {code}: {app.errors()}"


def require(program):
    if not os.path.exists(os.path.join(BUILD, program)):
        raise Skip("its compiler is not installed")


def example_poll(program):
    with App(program) as app:
        app.expect("READY=1")
        app.ping(1)
        app.tell("echo")
        assert app.line() == "echo"
        app.process.stdin.close()
        app.expect("STOPPING=1")
        assert app.process.wait(LIMIT_S) == 0
