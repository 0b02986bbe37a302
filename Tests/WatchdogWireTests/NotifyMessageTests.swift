// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogWire

@Suite("sd_notify messages")
struct NotifyMessageTests {
    private func decode(_ text: String) -> NotifyMessage {
        NotifyMessage(decoding: text.utf8)
    }

    private func message(_ build: (inout NotifyMessage) -> Void) -> NotifyMessage {
        var message = NotifyMessage()
        build(&message)
        return message
    }

    @Test("every key of systemd is supported")
    func everyKey() {
        let text = """
            READY=1
            FIRST_FRAME=1
            USEFUL=1
            RELOADING=1
            STOPPING=1
            MONOTONIC_USEC=1500000
            STATUS=Completed 66% of file system check…
            ERRNO=2
            BUSERROR=org.freedesktop.DBus.Error.TimedOut
            EXIT_STATUS=255
            MAINPID=4711
            WATCHDOG=1
            WATCHDOG_USEC=20000000
            EXTEND_TIMEOUT_USEC=5000000
            PROGRESS=66
            BARRIER=1
            """
        let expected = message {
            $0.isReady = true
            $0.isFirstFrame = true
            $0.isUseful = true
            $0.isReloading = true
            $0.isStopping = true
            $0.reloadBegan = .milliseconds(1500)
            $0.status = "Completed 66% of file system check…"
            $0.errno = 2
            $0.busError = "org.freedesktop.DBus.Error.TimedOut"
            $0.exitStatus = 255
            $0.mainProcess = 4711
            $0.watchdog = .alive
            $0.watchdogTimeout = .seconds(20)
            $0.timeoutExtension = .seconds(5)
            $0.progress = "66"
            $0.isBarrier = true
        }
        #expect(decode(text) == expected)
        #expect(NotifyMessage(decoding: expected.datagram) == expected)
    }

    @Test("a program can request to be killed")
    func trigger() {
        #expect(decode("WATCHDOG=trigger").watchdog == .trigger)
    }

    @Test("keys about descriptors are neither used nor counted as unknown")
    func ignoredKeys() {
        #expect(decode("FDSTORE=1\nFDNAME=listener\nFDPOLL=0\nFDSTOREREMOVE=1\nMAINPIDFD=1\n") == NotifyMessage())
    }

    @Test("the first assignment of a value wins, and any of a flag, as in systemd")
    func duplicates() {
        let twice = decode("STATUS=first\nSTATUS=second\nMAINPID=7\nMAINPID=8\nREADY=1\nREADY=1\n")
        #expect(twice == message { ($0.status, $0.mainProcess, $0.isReady) = ("first", 7, true) })
        let spoiled = decode("MAINPID=x\nMAINPID=8\n")
        #expect(spoiled == message { $0.malformed = 1 })
        #expect(decode("READY=0\nREADY=1\n") == message { ($0.isReady, $0.malformed) = (true, 1) })
    }

    @Test("an empty status withdraws the previous one")
    func emptyStatus() {
        #expect(decode("STATUS=\n").status == "")
        #expect(decode("READY=1\n").status == nil)
    }

    @Test(
        "an unusable value is dropped and counted",
        arguments: [
            "READY=yes", "READY=", "READY=11", "READY=1 ", "RELOADING=0", "STOPPING=2", "BARRIER=x",
            "MAINPID=", "MAINPID=0", "MAINPID=-1", "MAINPID=2147483648", "MAINPID=99999999999999999999999",
            "MAINPID=1x",
            "ERRNO=0", "ERRNO=-2", "ERRNO=4096", "ERRNO=ENOENT", "EXIT_STATUS=256", "EXIT_STATUS=-1",
            "WATCHDOG=0", "WATCHDOG=Trigger", "WATCHDOG=", "WATCHDOG_USEC=-5", "WATCHDOG_USEC=1e6",
            "WATCHDOG_USEC=9223372036854775808", "WATCHDOG_USEC=18446744073709551615", "WATCHDOG_USEC= 5",
            "EXTEND_TIMEOUT_USEC=0", "EXTEND_TIMEOUT_USEC=+5", "EXTEND_TIMEOUT_USEC=0x10", "MONOTONIC_USEC=\u{661}",
            "=", "=1", "=READY=1", "READY", "no assignment at all", " ",
        ]
    )
    func unusable(line: String) {
        #expect(decode(line) == message { $0.malformed = 1 })
        #expect(
            decode("STATUS=a\n\(line)\nPROGRESS=b")
                == message { ($0.status, $0.progress, $0.malformed) = ("a", "b", 1) })
    }

    @Test("unknown keys are counted and ignored")
    func unknown() {
        #expect(decode("X_VENDOR=1\nready=1\nREADY =1\n READY=1\n") == message { $0.unknown = 4 })
    }

    @Test("an empty text yields an empty message", arguments: ["", "\n", "\n\n\n", "\r\n\r\n", "\0"])
    func nothing(text: String) {
        #expect(decode(text) == NotifyMessage())
    }

    @Test("lines may end with CR LF, and the last needs no end")
    func lineEnds() {
        let expected = message { ($0.isReady, $0.status) = (true, "up") }
        #expect(decode("READY=1\r\nSTATUS=up\r\n") == expected)
        #expect(decode("READY=1\nSTATUS=up") == expected)
        #expect(decode("READY=1\rSTATUS=up") == expected)
    }

    @Test("one trailing NUL is tolerated; any other spoils the datagram")
    func embeddedNUL() {
        #expect(decode("READY=1\0").isReady)
        #expect(decode("READY=1\n\0") == message { $0.isReady = true })
        #expect(decode("READY=1\0\0") == message { $0.malformed = 1 })
        #expect(decode("READY=1\n\0STATUS=x") == message { $0.malformed = 1 })
    }

    @Test("a datagram of 4096 bytes is read; a longer one is rejected completely")
    func length() {
        let longest = "READY=1\nSTATUS=" + String(repeating: "x", count: 4096 - 15)
        #expect(decode(longest).isReady)
        #expect(decode(longest).status?.utf8.count == 4081)
        #expect(decode(longest + "\0").isReady)
        #expect(decode(longest + "x") == message { $0.malformed = 1 })
        #expect(decode(longest + "\0x") == message { $0.malformed = 1 })
        #expect(decode(longest + "\0" + longest) == message { $0.malformed = 1 })
        #expect(
            NotifyMessage(decoding: [UInt8](repeating: UInt8(ascii: "="), count: 1 << 20))
                == message { $0.malformed = 1 })
    }

    @Test("invalid UTF-8 in a status is replaced")
    func invalidUTF8() {
        #expect(
            NotifyMessage(decoding: Array("STATUS=a".utf8) + [0xff, 0xc0, 0xaf]).status == "a\u{fffd}\u{fffd}\u{fffd}")
        #expect(NotifyMessage(decoding: [0xff, UInt8(ascii: "="), 0xfe]) == message { $0.unknown = 1 })
    }

    @Test("a slice whose indices do not begin at zero is read")
    func slices() {
        let bytes = Array("xxREADY=1\nxx".utf8)
        #expect(NotifyMessage(decoding: bytes[2..<10]).isReady)
        #expect(bytes.withUnsafeBytes { NotifyMessage(decoding: $0[2..<10]).isReady })
    }

    @Test("sent texts stay one line, within their limits and whole scalars")
    func encodedTexts() {
        let injected = message { $0.status = "up\nREADY=1\r\nSTOPPING=1\0!" }
        let decoded = NotifyMessage(decoding: injected.datagram)
        #expect(decoded == message { $0.status = "up READY=1  STOPPING=1 !" })
        let long = message {
            $0.status = String(repeating: "🐕", count: 2000)
            $0.busError = String(repeating: "b", count: 9000)
            $0.progress = "x" + String(repeating: "é", count: 9000)
        }
        #expect(long.datagram.count <= 4096)
        #expect(NotifyMessage(decoding: long.datagram).status == String(repeating: "🐕", count: 256))
        #expect(NotifyMessage(decoding: long.datagram).progress == "x" + String(repeating: "é", count: 127))
    }

    @Test(
        "durations are sent as whole positive microseconds",
        arguments: [
            (Duration.nanoseconds(1), Int64(1)), (.zero, 1), (.seconds(-5), 1), (.seconds(2), 2_000_000),
            (.nanoseconds(1001), 2), (.seconds(Int64.max), .max), (.seconds(Int64.min), 1),
        ]
    )
    func sentDurations(duration: Duration, microseconds: Int64) {
        let datagram = message { $0.timeoutExtension = duration }.datagram
        #expect(String(decoding: datagram, as: UTF8.self) == "EXTEND_TIMEOUT_USEC=\(microseconds)\n")
    }

    @Test("a message survives encoding and decoding", arguments: 0..<20 as Range<UInt64>)
    func roundTrip(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let sent = message {
                $0.isReady = Bool.random(using: &random)
                $0.isUseful = Bool.random(using: &random)
                $0.isReloading = Bool.random(using: &random)
                $0.isStopping = Bool.random(using: &random)
                $0.isBarrier = Bool.random(using: &random)
                $0.reloadBegan = random.maybe { $0.duration() }
                $0.status = random.maybe { $0.text(limit: 1024) }
                $0.errno = random.maybe { Int32.random(in: 1...4095, using: &$0) }
                $0.busError = random.maybe { $0.text(limit: 256) }
                $0.exitStatus = random.maybe { UInt8.random(in: 0...255, using: &$0) }
                $0.mainProcess = random.maybe { Int32.random(in: 1 ... .max, using: &$0) }
                $0.watchdog = random.maybe { Bool.random(using: &$0) ? .alive : .trigger }
                $0.watchdogTimeout = random.maybe { $0.duration() }
                $0.timeoutExtension = random.maybe { $0.duration() }
                $0.progress = random.maybe { $0.text(limit: 256) }
            }
            #expect(sent.datagram.count <= Wire.Limit.datagram)
            #expect(NotifyMessage(decoding: sent.datagram) == sent)
        }
    }

    @Test("random hostile datagrams are tolerated and stay sendable", arguments: 0..<20 as Range<UInt64>)
    func hostile(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let keys = [
            "READY", "RELOADING", "STOPPING", "STATUS", "ERRNO", "BUSERROR", "EXIT_STATUS", "MAINPID", "WATCHDOG",
            "WATCHDOG_USEC", "EXTEND_TIMEOUT_USEC", "PROGRESS", "FDSTORE", "BARRIER", "MONOTONIC_USEC", "X",
        ]
        for _ in 0..<50 {
            let message = NotifyMessage(decoding: random.hostileDatagram(keys: keys))
            let again = message.datagram
            #expect(again.count <= Wire.Limit.datagram)
            #expect(NotifyMessage(decoding: again).malformed == 0)
        }
    }
}
