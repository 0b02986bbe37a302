# SPDX-License-Identifier: Apache-2.0
"""States, events and tasks, for the driver."""

import time

from app import App


def lifecycle(driver):
    with App(driver, "lifecycle") as app:
        app.say("STATE=background\nSTATE_ID=1\nBACKGROUND_USEC=30000000")
        assert (app.line(), app.line()) == ("time 30000000", "state background 1")
        app.expect("STATE_DONE=1")
        assert 28 <= int(app.ask()["left"]) <= 30
        # Heeded before: answered again, and nothing else.
        app.say("STATE=foreground\nSTATE_ID=1")
        app.expect("STATE_DONE=1")
        app.say("STATE=background\nSTATE_ID=2")
        app.expect("STATE_DONE=2")
        app.say("EXPIRE=1")
        assert app.line() == "expire"
        app.say("STATE=foreground\nSTATE_ID=3")
        assert app.line() == "state foreground 3"
        app.expect("STATE_DONE=3")
        assert app.ask()["left"] == "0"  # -1 µs, in seconds
        app.say("EVENT=url\nEVENT_ID=1\nPAYLOAD=clock://alarm")
        assert app.line() == "event url 1 13 clock://alarm"
        app.expect("EVENT_DONE=1")
        app.say(b"EVENT=" + b"k" * 100 + b"\nEVENT_ID=2\nPAYLOAD=" + b"\xff" + b"p" * 3000)
        words = app.line().split()
        assert words[:4] == ["event", "k" * 64, "2", "2048"] and words[4].startswith("\ufffdp"), words
        app.expect("EVENT_DONE=2")
        app.say("EVENT=url\nEVENT_ID=1")
        app.expect("EVENT_DONE=2")
        app.say("EVENT=url\nEVENT_ID=3\nEVENT_FROM=mail")
        assert app.line() == "event url 3 0  from 4 mail"
        app.expect("EVENT_DONE=3")
        app.say("EVENT=url\nEVENT_ID=4\nEVENT_FROM=" + "m" * 100)
        assert app.line() == "event url 4 0  from 64 " + "m" * 64
        app.expect("EVENT_DONE=4")
        app.say("EVENT=url\nEVENT_ID=5\nEVENT_FROM=")
        assert app.line() == "event url 5 0 ", "the sender of the last event is forgotten"
        app.expect("EVENT_DONE=5")
        app.say("TERMINATE=1")
        assert app.line() == "terminate now"
        app.say("TERMINATE=1")
        app.ping(1)
        app.obey()
        app.end()


def deaf(driver):
    with App(driver, "lifecycle") as app:
        app.obey("deaf")
        for number in (1, 2):
            app.say(f"EVENT=url\nEVENT_ID={number}")
            # In one datagram: otherwise the event would be taken for a handled one first.
            assert app.hear() == [f"EVENT_LOST={number}", f"EVENT_DONE={number}"]
        app.say("EVENT=url\nEVENT_ID=2")
        app.expect("EVENT_DONE=2")
        app.end()


def no_lifecycle(driver):
    with App(driver) as app:
        app.say("STATE=background\nSTATE_ID=1\nEVENT=x\nEVENT_ID=1\nEXPIRE=1\nBACKGROUND_USEC=5")
        app.ping(1)
        app.obey()
        app.end()


def later(driver):
    with App(driver, "lifecycle") as app:
        app.obey("later 1")
        app.say("EVENT=a\nEVENT_ID=1")
        assert app.line().startswith("event a 1")
        app.obey("later 0")
        app.say("EVENT=b\nEVENT_ID=2")
        assert app.line().startswith("event b 2")
        app.say("EVENT=a\nEVENT_ID=1")
        app.ping(1)
        app.tell("event-done 7", "event-done 1")
        app.expect("EVENT_DONE=2")
        app.obey("event-done 1", "later 1")
        app.say("STATE=background\nSTATE_ID=4")
        assert app.line() == "state background 4"
        app.ping(2)
        app.tell("state-done 4")
        app.expect("STATE_DONE=4")
        # Too many: the oldest counts as done.
        for number in range(3, 3 + 33):
            app.say(f"EVENT=c\nEVENT_ID={number}")
            app.line()
        app.expect("EVENT_DONE=3")
        app.tell("event-done 5", "event-done 3", "event-done 4")
        app.expect("EVENT_DONE=5")
        app.end()


def tasks(driver):
    with App(driver, "lifecycle") as app:
        app.tell("begin save", "begin upload", "end 1", "end 1", "end 9")
        assert (app.line(), app.line()) == ("task 1", "task 2")
        app.expect("BEGIN_TASK=1 save")
        app.expect("BEGIN_TASK=2 upload")
        app.expect("END_TASK=1")
        app.tell("begin-launch photos", "begin-launch photos", "ready", "begin-launch feed", "end-launch photos",
                 "end-launch photos", "end-launch feed", "begin-launch late")
        codes = [app.line() for _ in range(7)]
        assert codes == ["launch 0", "launch 17", "launch 0", "launch 0", "launch 2", "launch 0", "launch 62"], codes
        for line in ("BEGIN_LAUNCH_TASK=photos", "READY=1", "BEGIN_LAUNCH_TASK=feed", "END_LAUNCH_TASK=photos",
                     "END_LAUNCH_TASK=feed"):
            app.expect(line)
        for _ in range(63):
            app.tell("begin " + "n" * 200)
            assert app.line() != "task 0"
        app.tell("begin x")
        assert app.line() == "task 0"
        heard = [app.hear() for _ in range(63)]
        assert all(len(lines[0].split(" ")[1]) == 128 for lines in heard)
        app.end()


def signposts(driver):
    with App(driver, "lifecycle") as app:
        app.tell("begin-signpost load rows")
        assert app.line() == "signpost 1"
        began = app.hear()[0].split(" ", 4)
        assert began[:2] == ["SIGNPOST=begin", "1"] and began[3:] == ["main", "photos\tload rows"], began
        app.tell("end-signpost 1 load rows")
        ended = app.hear()[0].split(" ", 4)
        assert ended[0] == "SIGNPOST=end" and ended[4] == began[4], ended
        assert 0 <= int(ended[2]) - int(began[2]) < 60e9
        app.tell("signpost tapped")
        event = app.hear()[0].split(" ", 4)
        assert event[0] == "SIGNPOST=event" and event[4] == "tab bed\ttapped\tmore", event
        # What waits is bounded, and what is lost is counted.
        app.obey("signposts 1000")
        heard, lost = 0, 0
        while heard + lost < 1000:
            for line in app.hear():
                heard += line.startswith("SIGNPOST=")
                lost += int(line.partition("SIGNPOSTS_LOST=")[2] or 0)
        assert heard >= 100 and lost > 0, (heard, lost)
        app.end()


def hang(driver):
    with App(driver, "lifecycle", environment={"WATCHDOG_FAULTS": "1"}) as app:
        assert "FAULTS=1" in app.greeting, app.greeting
        began = time.monotonic()
        app.say("HANG_USEC=300000")
        app.say("PING=1")
        app.expect("PONG=1")
        assert time.monotonic() - began >= 0.29
        app.end()
    with App(driver, "lifecycle") as app:
        assert "FAULTS=1" not in app.greeting, app.greeting
        app.say("HANG_USEC=600000000")
        app.say("PING=1")
        app.expect("PONG=1")
        app.end()


TESTS = [lifecycle, deaf, no_lifecycle, later, tasks, signposts, hang]
