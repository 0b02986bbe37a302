// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogWire

/// Tests of how a client ends, and of how it runs without a supervisor.
extension ConformanceSession {
    /// CPU share above which an idle client is spinning.
    private static let idleLoad = 0.5
    /// The observation time of a program that should keep running.
    private static let watched = Duration.seconds(1)

    func tryTermination() throws(ConformanceError) {
        guard let program = try launchReady(for: [.termination]) else { return }
        defer { finish(program) }
        program.say("TERMINATE=1")
        guard let exit = try program.waitForExit(plan.terminationLimit) else {
            return record(
                .termination, .failed("it is still running \(TimeSpan.text(plan.terminationLimit)) after TERMINATE=1"))
        }
        record(.termination, exit == .exited(code: 0) ? .passed("") : .failed("it ended: \(Self.text(exit))"))
    }

    func tryClosedChannel() throws(ConformanceError) {
        guard let program = try launchReady(for: [.closedChannel]) else { return }
        defer { finish(program) }
        program.closeChannel()
        let load = try program.load(over: Self.watched)
        switch program.exit {
        case .exited(code: 0)?: record(.closedChannel, .passed("it exits"))
        case let exit?: record(.closedChannel, .failed("it ended: \(Self.text(exit))"))
        case nil where load > Self.idleLoad:
            record(.closedChannel, .failed("it uses \(Int(load * 100)) % of a CPU after that"))
        case nil: record(.closedChannel, .passed("it continues"))
        }
    }

    func tryAlone() throws(ConformanceError) {
        try tryWithoutSupervisor([:], .silence)
    }

    func tryBadEnvironment() throws(ConformanceError) {
        for value in ["9999", "abc", "-1", ""] {
            try tryWithoutSupervisor([Wire.Environment.channel: value], .badEnvironment, isLast: value.isEmpty)
        }
    }

    private func tryWithoutSupervisor(
        _ variables: [String: String], _ requirement: Requirement, isLast: Bool = true
    ) throws(ConformanceError) {
        let program = try launch(.none(variables))
        defer { finish(program) }
        let setting = variables.map { "with \($0)=\($1) " }.joined()
        _ = try program.waitForExit(isLast ? Self.watched : .milliseconds(500))
        if let exit = program.exit, exit != .exited(code: 0) {
            return record(requirement, .failed("\(setting)it ended: \(Self.text(exit))"))
        }
        if program.exit == nil, isLast {
            try? program.process.send(SIGTERM)
            guard try program.waitForExit(plan.terminationLimit) != nil else {
                return record(
                    requirement,
                    .failed("\(setting)it is still running \(TimeSpan.text(plan.terminationLimit)) after SIGTERM"))
            }
        }
        if isLast { record(requirement, .passed("")) }
    }

    func tryServiceManager() throws(ConformanceError) {
        let directory: RuntimeDirectory
        let socket: NotifySocket
        do {
            directory = try RuntimeDirectory.create()
            socket = try NotifySocket(in: directory, name: "notify")
        } catch {
            return record(.serviceManager, .skipped("\(error)"))
        }
        defer { directory.remove() }
        let interval = Duration.seconds(1)
        let program = try launch(
            .none([
                Wire.Environment.notifySocket: socket.address,
                Wire.Environment.watchdogMicroseconds: "\(interval.nanoseconds / 1_000)",
            ]))
        defer { finish(program) }
        var messages: [(message: NotifyMessage, time: Instant)] = []
        func listen(_ limit: Duration, until condition: () -> Bool) throws(ConformanceError) {
            let end = Instant.now() + limit
            while !condition(), !program.hasExited, Instant.now() < end {
                while messages.count < 1_000, let message = try? socket.receive() {
                    messages.append((NotifyMessage(decoding: message.bytes), .now()))
                }
                try program.pause(.milliseconds(20))
            }
        }
        try listen(silenceLimit) { messages.contains { $0.message.isReady } }
        guard messages.contains(where: { $0.message.isReady }) else {
            return record(
                .serviceManager,
                messages.isEmpty
                    ? .skipped("it sends nothing to NOTIFY_SOCKET")
                    : .failed(instead(program, "it did not send READY=1"))
            )
        }
        let start = Instant.now()
        try listen(interval * 3) { false }
        let signs =
            [start] + messages.filter { $0.message.watchdog == .alive && $0.time >= start }.map(\.time) + [.now()]
        let longest = zip(signs, signs.dropFirst()).map { $1 - $0 }.max() ?? .zero
        if signs.count == 2 { return record(.serviceManager, .passed("READY=1, but no WATCHDOG=1")) }
        record(
            .serviceManager,
            longest <= interval
                ? .passed("WATCHDOG=1 every \(longest.brief)")
                : .failed("\(longest.brief) without WATCHDOG=1, where WATCHDOG_USEC allows \(TimeSpan.text(interval))"))
    }
}
