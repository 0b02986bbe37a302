// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogWire

/// Tests of what every client does: greet, answer, survive.
extension ConformanceSession {
    /// The requirements that cannot be tested if a program does not greet and become ready.
    private static let needingChannel = Requirement.allCases.filter {
        ![.silence, .badEnvironment, .serviceManager, .conduct].contains($0)
    }

    func tryGreeting() throws(ConformanceError) {
        let start = Instant.now()
        let program = try launch()
        defer { finish(program) }
        guard try program.wait(plan.launchLimit, until: { $0.hello != nil }), let hello = program.conduct.hello else {
            let reason = instead(program, "it said nothing within \(TimeSpan.text(plan.launchLimit))")
            record(.hello, .failed(program.conduct.heard.isEmpty ? reason : "it did not send HELLO first: \(reason)"))
            return skip(Self.needingChannel, because: "it did not send HELLO")
        }
        note(hasLifecycle: hello.hasLifecycle)
        let isFirst = program.conduct.beginsWithHello == true
        let text = [hello.library, hello.hasLifecycle ? "with a lifecycle" : nil].compactMap(\.self)
        record(
            .hello, isFirst ? .passed(text.joined(separator: ", ")) : .failed("it said something else before HELLO"))
        guard try program.wait(plan.launchLimit, until: { $0.isReady }) else {
            record(
                .ready, .failed(instead(program, "it did not send READY=1 within \(TimeSpan.text(plan.launchLimit))")))
            return skip(Self.needingChannel, because: "it has not become ready")
        }
        record(.ready, .passed(""))
        note(readyTime: .now() - start)
        let open = program.inheritableChannels(of: hello.process ?? program.process.pid)
        record(
            .inheritance,
            open.isEmpty ? .passed("") : .failed("its descriptor \(open[0]) lacks FD_CLOEXEC"))
        try tryPings(program)
    }

    private func tryPings(_ program: ClientUnderTest) throws(ConformanceError) {
        var times: [Duration] = []
        // The bounds of the range, and values that signed integers or doubles cannot represent.
        let numbers: [UInt64] =
            [0, 1, .max, 1 << 63, 1 << 53 + 1] + (UInt64(0)..<15).map { 20_015_998_343_868 + $0 * 7_919 }
        for number in numbers {
            guard let time = try ping(program, number) else {
                let answers = program.conduct.pongs.suffix(3).map(\.description).joined(separator: ", ")
                record(
                    .ping,
                    .failed(
                        instead(program, "no PONG=\(number) within \(TimeSpan.text(plan.answerLimit))")
                            + (answers.isEmpty ? "" : "; its last answers: \(answers)")))
                return skip([.newestPing], because: "it does not answer pings")
            }
            times.append(time)
        }
        record(
            .ping,
            .passed("median \(Duration.nanoseconds(Int64(times.map { Double($0.nanoseconds) }.median ?? 0)).brief)"))
        let count = program.conduct.heard.count
        for number in UInt64(100)...102 { program.say(SupervisorMessage(ping: number)) }
        let isAnswered = try program.wait(plan.answerLimit) { $0.answer(to: 102, since: count) != nil }
        record(.newestPing, isAnswered ? .passed("") : .failed(instead(program, "no PONG=102 after pings 100 to 102")))
    }

    func tryUnknownKeys() throws(ConformanceError) {
        guard let program = try launchReady(for: [.unknownKeys]) else { return }
        defer { finish(program) }
        // In a launch that allows no faults, a client must ignore HANG_USEC, too.
        program.say("FUTURE=1", "PING=41", "ANOTHER=two words", "HANG_USEC=600000000")
        guard try program.wait(plan.answerLimit, until: { $0.answer(to: 41) != nil }) else {
            return record(.unknownKeys, .failed(instead(program, "no PONG=41 for a ping among other keys")))
        }
        let isAlive = try ping(program, 42) != nil
        record(.unknownKeys, isAlive ? .passed("") : .failed(instead(program, "it no longer answers")))
    }

    func tryRepeatedKeys() throws(ConformanceError) {
        guard let program = try launchReady(for: [.firstAssignment]) else { return }
        defer { finish(program) }
        program.say("PING=51", "PING=52")
        let isFirst = try program.wait(plan.answerLimit) { $0.answer(to: 51) != nil }
        record(
            .firstAssignment,
            isFirst && program.conduct.answer(to: 52) == nil
                ? .passed("") : .failed(instead(program, "it did not answer 51, and only that, to PING=51 and PING=52"))
        )
    }

    func tryGarbage() throws(ConformanceError) {
        guard let program = try launchReady(for: [.garbage]) else { return }
        defer { finish(program) }
        for datagram in Self.malformed { program.say(datagram) }
        let answer = try ping(program, 61)
        let strange = program.conduct.pongs.filter { $0 != 61 }
        if answer == nil {
            record(.garbage, .failed(instead(program, "it did not answer the ping that followed")))
        } else {
            record(
                .garbage, strange.isEmpty ? .passed("") : .failed("it answered PONG=\(strange[0]) to a malformed ping"))
        }
    }

    /// Malformed datagrams without a request.
    private static let malformed: [[UInt8]] =
        [
            "PING=abc", "PING=-1", "PING=", "PING", "=5", "PING= 7", "PING=18446744073709551616", "PING=0x10", "ping=9",
            "STATE=nowhere\nSTATE_ID=1", "STATE=background", "EVENT_ID=1", "BACKGROUND_USEC=soon", "TERMINATE=yes",
            "\n\n\r\n",
        ].map { Array($0.utf8) } + [
            Array("PING=71".utf8) + [0] + Array("PING=72".utf8),
            [UInt8](repeating: 0xFF, count: 4_096), [UInt8](repeating: UInt8(ascii: "A"), count: 4_096),
            (0..<255).map { UInt8($0) }, Array("PING=73\n".utf8) + [UInt8](repeating: UInt8(ascii: "="), count: 4_200),
        ]

    func tryFlood() throws(ConformanceError) {
        guard let program = try launchReady(for: [.flood]) else { return }
        defer { finish(program) }
        var number: UInt64 = 1_000
        let end = Instant.now() + .seconds(1)
        while Instant.now() < end, !program.hasExited {
            while number < 20_000, program.say("PING=\(number)") { number += 1 }
            try program.pause(.milliseconds(10), isDeaf: true)
        }
        // The client's queued messages would delay its next answer.
        _ = try program.wait(.milliseconds(200)) { _ in false }
        let answer = try ping(program, 2)
        record(
            .flood,
            answer != nil
                ? .passed("\(number - 1_000) pings in 1 s")
                : .failed(
                    instead(program, "it did not answer the ping that followed \(number - 1_000) others")))
    }
}
