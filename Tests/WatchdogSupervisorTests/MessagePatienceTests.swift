// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogWire

@testable import WatchdogLaunch

@Suite("Whether messages may be batched")
struct MessagePatienceTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let step = Duration.nanoseconds(1)

    private var patience = MessagePatience()

    private mutating func routine(at instant: Instant) -> Bool {
        patience.read(isRoutine: true, at: instant)
        return patience.canWait(at: instant)
    }

    @Test("a new app's messages are read immediately, however long it takes to become ready")
    mutating func launching() {
        for second in 0..<100 { #expect(!routine(at: Self.start + .seconds(second))) }
        patience.expect(true, at: Self.start + .seconds(100))
        #expect(!routine(at: Self.start + .seconds(1_000)))
    }

    @Test("after an expected message, messages may wait once the quiet time has passed, and not before")
    mutating func quiet() {
        patience.expect(false, at: Self.start)
        let quiet = Self.start + MessagePatience.quiet
        #expect(!routine(at: quiet - Self.step))
        #expect(routine(at: quiet))
        // A transition of any length.
        patience.expect(true, at: quiet + .seconds(1))
        #expect(!patience.canWait(at: quiet + .seconds(1)))
        patience.expect(false, at: quiet + .seconds(2))
        let again = quiet + .seconds(2) + MessagePatience.quiet
        patience.expect(false, at: again - .seconds(1))
        #expect(!routine(at: again - Self.step))
        #expect(routine(at: again))
    }

    @Test(
        "after a message that somebody may wait for, later messages are read immediately until the quiet time has passed"
    )
    mutating func word() {
        patience.expect(false, at: Self.start)
        let word = Self.start + MessagePatience.quiet
        #expect(routine(at: word))
        patience.read(isRoutine: false, at: word)
        #expect(!patience.canWait(at: word))
        #expect(!routine(at: word + MessagePatience.quiet - Self.step))
        #expect(routine(at: word + MessagePatience.quiet))
    }

    @Test("one message more than a burst is a flood, which may wait for its whole duration, whatever it contains")
    mutating func flood() {
        for _ in 0..<MessagePatience.burst { patience.read(isRoutine: false, at: Self.start) }
        #expect(!patience.canWait(at: Self.start))
        patience.read(isRoutine: false, at: Self.start)
        #expect(patience.canWait(at: Self.start))
        let end = Self.start + MessagePatience.flood
        #expect(patience.canWait(at: end - Self.step))
        #expect(!patience.canWait(at: end))
        // Part of the burst is available again.
        for _ in 0..<MessagePatience.perSecond {
            patience.read(isRoutine: false, at: end)
            #expect(!patience.canWait(at: end))
        }
        patience.read(isRoutine: false, at: end)
        #expect(patience.canWait(at: end))
    }

    @Test("messages at the permitted rate never become a flood; a little faster, they do")
    mutating func rate() {
        let interval = Duration.seconds(1) / MessagePatience.perSecond
        var now = Self.start
        for _ in 0..<2_000 {
            patience.read(isRoutine: false, at: now)
            #expect(!patience.canWait(at: now))
            now = now + interval
        }
        var isFlooded = false
        for _ in 0..<2_000 {
            patience.read(isRoutine: false, at: now)
            isFlooded = isFlooded || patience.canWait(at: now)
            now = now + interval * 9 / 10
        }
        #expect(isFlooded)
    }

    @Test(
        "signs of life and texts are routine; messages that somebody may wait for are not",
        arguments: [
            ("WATCHDOG=1", true), ("WATCHDOG=1\n", true), ("STATUS=Serving\nWATCHDOG=1", true), ("STATUS=", true),
            ("X_OTHER=1", true), ("garbage", true), ("", true),
            ("READY=1", false), ("WATCHDOG=1\nREADY=1", false), ("STOPPING=1", false), ("RELOADING=1", false),
            ("MAINPID=1", false), ("WATCHDOG=trigger", false), ("BARRIER=1", false), ("WATCHDOG_USEC=1", false),
            ("EXTEND_TIMEOUT_USEC=1", false), ("ERRNO=1", false), ("EXIT_STATUS=1", false), ("USEFUL=1", false),
            ("FIRST_FRAME=1", false),
        ])
    func routine(message: String, isRoutine: Bool) {
        #expect(NotifyMessage(decoding: message.utf8).isRoutine == isRoutine)
        #expect(NotifyMessage.isRoutine(Array(message.utf8)) == isRoutine)
    }
}
