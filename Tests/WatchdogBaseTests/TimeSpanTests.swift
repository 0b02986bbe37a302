// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@Suite("Time spans")
struct TimeSpanTests {
    @Test(
        "are parsed in the forms that people write",
        arguments: [
            ("20s", Duration.seconds(20)), ("250ms", .milliseconds(250)), ("1min 30s", .seconds(90)),
            ("1min30s", .seconds(90)), ("30s 1min", .seconds(90)), ("1.5s", .milliseconds(1_500)),
            ("0.000000001s", .nanoseconds(1)), ("0s", .zero), ("0000000000000000000001s", .seconds(1)),
            (" \t7 \t ms\t", .milliseconds(7)), ("2h", .seconds(7_200)), ("1d", .seconds(86_400)),
            ("1day 1hour 1minute 1second 1msec 1usec 1nsec", .nanoseconds(90_061_001_001_001)),
            ("2days 2hr 2minutes 2seconds", .seconds(180_122)), ("3m", .seconds(180)), ("4sec", .seconds(4)),
            ("5us", .microseconds(5)), ("5\u{b5}s", .microseconds(5)), ("5\u{3bc}s", .microseconds(5)),
            ("9ns", .nanoseconds(9)), ("0.5d", .seconds(43_200)), ("1s1s", .seconds(2)),
            ("1.9999999999999999999s", .nanoseconds(1_999_999_999)),
            ("36525d", .seconds(36_525 * 86_400)), ("3155760000000000000ns", .seconds(3_155_760_000)),
        ])
    func valid(text: String, duration: Duration) throws {
        #expect(try TimeSpan.parse(text) == duration)
    }

    @Test(
        "report their problem, its place, and a remedy",
        arguments: [
            ("", "a time span is missing; write for example 20s or 250ms", 0),
            (" \t ", "a time span is missing; write for example 20s or 250ms", 0),
            ("20", "\"20\" has no unit; write 20s or 20ms", 0), ("1.5", "\"1.5\" has no unit; write 1.5s or 1.5ms", 0),
            ("1min 30", "\"1min 30\" has no unit; write 30s or 30ms", 5),
            ("5 5s", "\"5 5s\" has no unit; write 5s or 5ms", 0),
            ("20 fortnights", "unknown unit \"fortnights\"; use ns, µs, ms, s, min, h or d", 3),
            ("20S", "unknown unit \"S\"; use ns, µs, ms, s, min, h or d", 2),
            ("1e3s", "unknown unit \"e\"; use ns, µs, ms, s, min, h or d", 1),
            ("s", "\"s\" is not a time span; write for example 20s, 1min 30s or 250ms", 0),
            ("-5s", "\"-5s\" is not a time span; write for example 20s, 1min 30s or 250ms", 0),
            (".5s", "\".5s\" is not a time span; write for example 20s, 1min 30s or 250ms", 0),
            ("infinity", "\"infinity\" is not a time span; write for example 20s, 1min 30s or 250ms", 0),
            ("5.s", "digits are missing after the point", 2),
            ("101y", "unknown unit \"y\"; use ns, µs, ms, s, min, h or d", 3),
            ("36525d 1ns", "\"36525d 1ns\" is longer than a hundred years", 7),
            ("36526d", "\"36526d\" is longer than a hundred years", 0),
            ("3155760000000000001ns", "\"3155760000000000001ns\" is longer than a hundred years", 0),
            ("36525.000000001d", "\"36525.000000001d\" is longer than a hundred years", 0),
            ("99999999999999999999999s", "\"99999999999999999999999s\" is longer than a hundred years", 0),
            ("9223372036854775807d", "\"9223372036854775807d\" is longer than a hundred years", 0),
        ])
    func invalid(text: String, description: String, offset: Int) {
        #expect(throws: TimeSpan.SyntaxError.self) { try TimeSpan.parse(text) }
        do {
            _ = try TimeSpan.parse(text)
        } catch {
            #expect(error.description == description)
            #expect(error.offset == offset)
        }
    }

    @Test(
        "are printed in a readable form",
        arguments: [
            (Duration.zero, "0us"), (.microseconds(999), "999us"), (.milliseconds(1), "1ms"),
            (.microseconds(1_500), "1.5ms"), (.microseconds(2_500_000), "2.5s"), (.seconds(20), "20s"),
            (.milliseconds(59_999), "59.999s"), (.seconds(60), "1min"), (.seconds(90), "1min 30s"),
            (.seconds(3_600), "1h"), (.milliseconds(3_600_250), "1h 0.25s"), (.seconds(90_061), "25h 1min 1s"),
            (.nanoseconds(1_999), "1us"), (.seconds(-3), "0us"),
        ])
    func format(duration: Duration, text: String) {
        #expect(TimeSpan.format(duration) == text)
    }

    @Test("are shown with spaces and a micro sign, which are parsed too")
    func shown() throws {
        #expect(TimeSpan.text(.microseconds(928)) == "928 \u{b5}s")
        #expect(TimeSpan.text(.milliseconds(250)) == "250 ms")
        #expect(TimeSpan.text(.seconds(90)) == "1 min 30 s")
        #expect(TimeSpan.text(.zero) == "0 \u{b5}s" && TimeSpan.text(.milliseconds(3_602_500)) == "1 h 2.5 s")
        // What is left of an allowance, not what somebody has set.
        #expect(TimeSpan.text(.nanoseconds(1_993_252_001)) == "1.99 s")
        #expect(TimeSpan.text(.milliseconds(1_993)) == "1.993 s")
        #expect(TimeSpan.text(.microseconds(90_000_500)) == "1 min 30 s")
        #expect(try TimeSpan.parse(TimeSpan.text(.microseconds(928))) == .microseconds(928))
    }

    @Test("survive printing and parsing, to the microsecond")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 0x7135)
        for _ in 0..<20_000 {
            // All magnitudes up to a hundred years of 3.2e15 µs.
            let microseconds = Int64(generator.next() % 3_155_760_000_000_000) >> Int64(generator.below(52))
            let duration = Duration.microseconds(microseconds)
            let text = TimeSpan.format(duration)
            #expect(try TimeSpan.parse(text) == duration, "\(text)")
        }
    }

    @Test("never trap, whatever the bytes are")
    func hostile() {
        var generator = SeededGenerator(seed: 0xbad)
        let alphabet = [
            "1s", "2 ms", "0", "9", "99999", ".", " ", "s", "ms", "min", "d", "µ", "-", "e", "\u{301}", "\0", "ns",
        ]
        var counts = (valid: 0, invalid: 0)
        for _ in 0..<20_000 {
            let text = (0..<generator.below(8)).map { _ in generator.pick(alphabet) }.joined()
            do throws(TimeSpan.SyntaxError) {
                let duration = try TimeSpan.parse(text)
                if duration < .zero || duration > .seconds(3_155_760_000) { Issue.record("\(text) is \(duration)") }
                counts.valid += 1
            } catch {
                if error.offset > text.utf8.count { Issue.record("\(text): offset \(error.offset)") }
                counts.invalid += 1
            }
        }
        #expect(counts.valid > 500 && counts.invalid > 500)
    }
}
