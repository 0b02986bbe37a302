# SPDX-License-Identifier: Apache-2.0
"""Full sockets, much talk, threads, and datagrams that are nearly right, for the driver."""

import contextlib
import os
import random
import select
import time

from app import App


def full(driver):
    """The supervisor does not read: nothing blocks, later words replace earlier ones."""
    with App(driver, "lifecycle", buffer_bytes=4608) as app:
        app.tell("wake", *["useful"] * 200)
        assert app.line() == "wake"
        app.tell("talk 1000", "begin save", *[f"begin t{n}" for n in range(60)], "end 2")
        microseconds = int(app.line().split()[1])
        assert microseconds < 10_000_000, microseconds
        for _ in range(61):
            app.line()
        app.say("STATE=background\nSTATE_ID=1")
        assert app.line().startswith("state")
        for nonce in range(20):
            app.say(f"PING={nonce}")
        assert 0 <= int(app.ask()["timeout"]) <= 100
        before = app.cpu_seconds()
        time.sleep(0.5)
        assert app.cpu_seconds() - before < 0.2, "a busy loop"
        lines = []
        while "END_TASK=1" not in lines:
            if "STATE_DONE=1" in lines:
                app.tell("end 1")
            lines += app.hear()
        assert [line for line in lines if line.startswith("STATUS=")] == ["STATUS=word 1000"], lines
        assert "PONG=19" in lines and lines.index("BEGIN_TASK=1 save") < lines.index("STATE_DONE=1")
        assert not any(line.startswith("BEGIN_TASK=2 ") for line in lines), "a task that had ended before it was sent"
        app.ping(99)
        app.end()


def chatter(driver):
    with App(driver) as app:
        app.tell("talk 1000")
        spent_us = int(app.line().split()[1])
        statuses = []
        while "STATUS=word 1000" not in statuses:
            statuses += app.hear()
        # After the first twenty, ten a second.
        assert 20 <= len(statuses) <= 25 + spent_us // 100_000, statuses
        app.tell("talk 5")
        app.say("PING=1")
        heard = []
        while not {"PONG=1", "STATUS=word 5"} <= set(heard):
            heard += app.hear()
        app.end()


def detach(driver):
    for more in ([], ["EVENT=x\nEVENT_ID=1"]):
        with App(driver, "lifecycle") as app:
            app.obey("detach-in-callback")
            app.tell("turns", "sleep 500")
            app.line()
            for text in ["STATE=background\nSTATE_ID=1", *more]:
                app.say(text)
            assert app.line() == "state background 1"
            if not more:  # What was not read resets the connection.
                app.expect("STATE_DONE=1")
            app.tell("ask")
            assert app.line().startswith("supervised 0")
            app.end()


def threads(driver):
    with App(driver) as app:
        app.tell("threads 500")
        for nonce in range(200):
            app.say(f"PING={nonce}")
            heard = []
            while f"PONG={nonce}" not in heard:
                heard += app.hear()
        app.end()


def detach_sends(driver):
    with App(driver) as app:
        app.tell("talk 1000", "detach")
        app.line()
        statuses = []
        with contextlib.suppress(AssertionError):
            while True:
                statuses += app.hear()
        assert statuses[-1] == "STATUS=word 1000", statuses
        app.end()


def mutations(driver):
    """Datagrams that are nearly right, always the same ones."""
    chance = random.Random(1)
    keys = [b"STATE", b"STATE_ID", b"EVENT", b"EVENT_ID", b"PAYLOAD", b"EXPIRE", b"BACKGROUND_USEC", b"X", b""]
    values = [b"1", b"2", b"background", b"foreground", b"", b"18446744073709551615", b"\xf0\x9f\x90", b"\xc3\xa9" * 60,
              b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"x" * 2050, b"9223372036854775807", b"=", b"\xe2\x82"]
    with App(driver, "lifecycle") as app:
        for nonce in range(500):
            lines = [chance.choice(keys) + b"=" + chance.choice(values) for _ in range(chance.randrange(1, 8))]
            datagram = bytearray(chance.choice([b"\n", b"\r", b"\n\n"]).join(lines))
            for _ in range(chance.randrange(3)):
                datagram[chance.randrange(len(datagram))] = chance.randrange(256)
            app.say(bytes(datagram))
            app.say(f"PING={nonce}")
            heard = []
            while f"PONG={nonce}" not in heard:
                heard += app.hear()
            while select.select([app.process.stdout], [], [], 0)[0]:
                os.read(app.process.stdout.fileno(), 65536).decode()
        app.end()


TESTS = [full, chatter, detach, detach_sends, threads, mutations]
