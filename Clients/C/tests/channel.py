# SPDX-License-Identifier: Apache-2.0
"""What goes over the channel, for the driver."""

import contextlib
import os
import select
import socket
import subprocess
import time

from app import App, BUILD, LIMIT_S, VARIABLES


def hello(driver):
    with App(driver) as app:
        assert app.greeting == ["HELLO=1", f"PID={app.process.pid}", "LIBRARY=libwatchdog/1"], app.greeting
        app.tell("ready", "frame", "useful", "stopping")
        for word in ("READY", "FIRST_FRAME", "USEFUL", "STOPPING"):
            app.expect(word + "=1")
        assert app.ask()["supervised"] == "1"
        app.tell("again")
        assert app.line() == "again 1 1"
        app.end()


def hello_with_lifecycle(driver):
    environment = {"WATCHDOG_STATE": "background", "WATCHDOG_EVENT": "url"}
    with App(driver, "lifecycle", environment=environment) as app:
        assert app.greeting[-1] == "LIFECYCLE=1", app.greeting
        asked = app.ask()
        assert asked["state"] == "2" and asked["event"] == "url", asked
        app.end()


def ping(driver):
    with App(driver) as app:
        for nonce in (0, 1, 18446744073709551615):
            app.ping(nonce)
        app.say("PING=7\n")
        app.expect("PONG=7")
        app.say(b"PING=8\r\nUNKNOWN=x\0")
        app.expect("PONG=8")
        app.tell("thread-service")
        assert app.line() == "serving"
        app.say("PING=9")
        heard = app.hear()
        assert heard[0] == "PONG=9" and heard[1].startswith("THREAD="), heard
        app.obey()
        app.ping(10)
        app.end()


def flood(driver):
    with App(driver) as app:
        app.tell("sleep 300")
        app.channel.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 500:
                app.say(f"PING={sent}")
                sent += 1
        assert sent > 20, sent
        nonces = []
        while not nonces or nonces[-1] != sent - 1:
            nonces += [int(line[5:]) for line in app.hear() if line.startswith("PONG=")]
        assert nonces == sorted(set(nonces)), nonces
        app.end()


def garbage(driver):
    with App(driver, "lifecycle") as app:
        hostile = [
            os.urandom(4096), b"\0", b"\0" * 4096, b"=" * 4096, b"\n" * 4096, b"A" * 4096, b"PING=1\0PING=2",
            b"PING=" + b"9" * 4000, b"PING=18446744073709551616", b"PING=-1", b"PING= 1", b"PING=+1", b"PING=", b"PING",
            b"=1", b"PING=1\n" + b"x" * 4090, b"PING=1\n" + b"x" * 60000, b"PING=x\nPING=3", b"TERMINATE=yes",
            b"STATE=background", b"STATE=sideways\nSTATE_ID=1", b"STATE=background\nSTATE_ID=0", b"EVENT=x",
            b"EVENT=x\nEVENT_ID=99999999999999999999", b"EXPIRE=", b"BACKGROUND_USEC=0",
            b"BACKGROUND_USEC=9223372036854775808", b"STATE_ID=1", b"PAYLOAD=x",
        ]
        for datagram in hostile:
            app.say(datagram)
            app.ping(5)
        app.say("PING=6\nPING=7\nOTHER=\nTERMINATE=0")
        app.expect("PONG=6")
        app.obey()
        # The greatest datagram there may be, and one with a NUL after that.
        app.say(b"PING=8\n" + b"x" * 4089)
        app.expect("PONG=8")
        app.say(b"PING=9\n" + b"x" * 4089 + b"\0")
        app.expect("PONG=9")
        app.end()


def environment(driver):
    for value in ("", "x", "-1", "99999999999999999999", "1000", "0", "1", " 3", "3x", "2147483648"):
        with App(driver, channel=False, environment={"WATCHDOG_CHANNEL": value, "WATCHDOG_STATE": "background"}) as app:
            app.tell("ready", "status x")
            asked = app.ask()
            assert asked["supervised"] == "0" and asked["state"] == "1" and asked["timeout"] == "-1", (value, asked)
            app.tell("children")
            assert app.lines_until("end") == [], value
            app.end()
    # A socket that is no channel is left alone.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        theirs.set_inheritable(True)
        values = {key: value for key, value in os.environ.items() if key not in VARIABLES}
        values["WATCHDOG_CHANNEL"] = str(theirs.fileno())
        subprocess.run([os.path.join(BUILD, driver)], env=values, pass_fds=[theirs.fileno()], input=b"ready\n",
                       timeout=LIMIT_S, check=True)
        assert not select.select([ours], [], [], 0)[0]


def silence(driver):
    with App(driver, "lifecycle", channel=False) as app:
        app.tell("ready", "frame", "useful", "stopping", "status x", "summary x", "extend 1 x", "begin x", "end 1",
                 "begin-launch x", "state-done 1", "event-done 1", "talk 100000")
        assert app.line() == "task 1"
        assert app.line().startswith("launch")
        assert app.line().startswith("talked")
        asked = app.ask()
        assert asked["supervised"] == "0" and asked["descriptor"] == "0" and asked["timeout"] == "-1", asked
        app.tell("detach", "ready", "status x", "ask")
        assert app.line().startswith("supervised 0")
        app.end()


def texts(driver):
    with App(driver) as app:
        app.tell("lines")
        app.expect("STATUS=one two three\ufffd")
        app.tell("status " + "a" * 1023 + "é")
        app.expect("STATUS=" + "a" * 1023)
        app.tell("status " + "é" * 600)
        app.expect("STATUS=" + "é" * 512)
        app.tell("status ")
        app.expect("STATUS=")
        app.tell("summary " + "s" * 500)
        app.expect("SUMMARY=" + "s" * 128)
        app.tell("extend 30000000 412 of 1000")
        app.expect("EXTEND_TIMEOUT_USEC=30000000", "PROGRESS=412 of 1000")
        app.tell("extend 0 " + "p" * 500)
        app.expect("EXTEND_TIMEOUT_USEC=1", "PROGRESS=" + "p" * 256)
        app.end()


def closed(driver):
    with App(driver, "lifecycle") as app:
        app.channel.close()
        assert app.line() == "disconnected -1"
        app.tell("ready", "status x", "begin x")
        assert app.line().startswith("task")
        asked = app.ask()
        assert (asked["supervised"], asked["descriptor"], asked["timeout"]) == ("0", "0", "-1"), asked
        app.tell("turns")
        app.line()
        before = app.cpu_seconds()
        time.sleep(0.5)
        app.tell("turns")
        assert app.line() in ("turns 0", "turns 1", "turns 2") and app.cpu_seconds() - before < 0.1, "a busy loop"
        app.end()
    # Noticed while the app speaks, with SIGPIPE at its default.
    with App(driver) as app:
        app.tell("sleep 200", *["ready"] * 50)
        app.channel.close()
        assert app.line() == "disconnected -1"
        app.end()


def children(driver):
    with App(driver, environment={"WATCHDOG_STATE": "background", "WATCHDOG_EVENT": "url"}) as app:
        app.tell("children")
        assert app.lines_until("end") == []
        app.say("PING=1")
        app.expect("PONG=1")
        app.tell("fork")
        assert app.line() == "forked 0"
        assert app.hears_nothing()
        app.ping(2)
        app.end()


TESTS = [hello, hello_with_lifecycle, ping, flood, garbage, environment, silence, texts, closed, children]
