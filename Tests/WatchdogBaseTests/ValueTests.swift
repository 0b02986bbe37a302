// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Instants")
struct InstantTests {
    @Test("move by durations and differ by them")
    func arithmetic() {
        let instant = Instant(nanoseconds: 5)
        #expect(instant + .seconds(1) == Instant(nanoseconds: 1_000_000_005))
        #expect(instant - .nanoseconds(7) == Instant(nanoseconds: -2))
        #expect((instant + .milliseconds(3)) - instant == .milliseconds(3))
        #expect(instant - (instant + .milliseconds(3)) == .milliseconds(-3))
        #expect(instant < instant + .nanoseconds(1))
    }

    @Test("saturate instead of wrapping around")
    func saturation() {
        let first = Instant(nanoseconds: .min)
        let last = Instant(nanoseconds: .max)
        #expect(last + .nanoseconds(1) == last)
        #expect(last + .seconds(Int64.max) == last)
        #expect(first - .nanoseconds(1) == first)
        #expect(first + .seconds(Int64.min) == first)
        #expect(Instant(nanoseconds: 0) + .seconds(Int64.max) == last)
        #expect(Instant(nanoseconds: -1) - .seconds(Int64.max) == first)
        #expect(last - first > .nanoseconds(Int64.max))
        #expect(first - last < .nanoseconds(Int64.min))
    }

    @Test(
        "count whole nanoseconds, rounded toward zero",
        arguments: [
            (Duration.seconds(1), 1_000_000_000), (.seconds(-1), -1_000_000_000),
            (.nanoseconds(Int64.max), Int64.max), (.nanoseconds(Int64.min), .min), (.seconds(Int64.max), .max),
            (.seconds(Int64.min), .min), (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
            (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
            (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
            (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
        ] as [(Duration, Int64)])
    func nanoseconds(duration: Duration, count: Int64) {
        #expect(duration.nanoseconds == count)
    }
}

@Suite("Exit statuses")
struct ExitStatusTests {
    @Test("are numbered like a shell numbers them")
    func shellCode() {
        #expect(ExitStatus.exited(code: 7).shellCode == 7)
        #expect(ExitStatus.signaled(signal: 9, coreDumped: false).shellCode == 137)
        #expect(ExitStatus.unknown.shellCode == 255)
    }
}

@Suite("Shared values")
struct SharedTests {
    @Test("equal values share storage, others do not, and a change affects only its own copy")
    func sharing() {
        let first = Shared(wrappedValue: ["factor": 2])
        var same = Shared(wrappedValue: ["factor": 2])
        #expect(!same.isSameCopy(as: first))
        same.share(with: first)
        #expect(same.isSameCopy(as: first))
        same.wrappedValue["factor"] = 3
        #expect(first.wrappedValue["factor"] == 2)
        var other = same
        other.share(with: first)
        #expect(other.wrappedValue["factor"] == 3 && other.isSameCopy(as: same))
    }
}
