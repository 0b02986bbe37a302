// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// A process of its own that asks a supervisor for something.
final class RequestingClient {
    private let process: Pidfd
    private let output: OwnedDescriptor

    /// Starts `Benchmarks/Subjects/client.c`.
    init(_ bench: Bench, _ arguments: [String]) throws {
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        process = try spawn(.underTest(bench.subject("client"), arguments, output: writeEnd.number)).process
        output = readEnd
    }

    deinit {
        try? process.send(SIGKILL)
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 5_000)
        _ = try? process.waitExit()
    }

    /// The time that "wait" took, until it has all answers.
    func waited() throws -> Duration {
        let begun = try requestedAt()
        let duration = try requestedAt() - begun
        guard try hasSucceeded() else { throw Failure("a client got an error") }
        return duration
    }

    private func hasSucceeded() throws -> Bool {
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 5_000) == 1 else { throw Failure("a client does not end") }
        return try process.waitExit()?.status == .exited(code: 0)
    }

    /// When it asked; waits until it has.
    func requestedAt() throws -> Instant {
        let record = try Record.next(from: output, patience: .seconds(60))
        guard record.kind == .settled else { throw Failure("a client wrote what nobody understands") }
        return record.time
    }
}

extension Bench {
    /// The file of a service that sends READY=1.
    ///
    /// - Parameters:
    ///   - mode: the argument of `service.c`.
    ///   - more: further lines.
    func notifyingService(_ mode: String = "notify", _ more: String = "") -> String {
        """
        [App]
        ExecStart=\(subject("service")) \(mode)
        StandardOutput=inherit
        [Watchdog]
        Readiness=notify
        [Restart]
        Policy=always
        Reset=1s
        Limit=infinity
        \(more)
        """
    }
}
