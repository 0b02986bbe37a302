// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// A supervisor with one service that runs, which is started again and again.
protocol SingleSession: AnyObject {
    /// What `client.c` is called with to ask for a start; nil where only the command does.
    var request: [String]? { get }
    /// The command that users type, which starts the service.
    var command: [String] { get throws }
    /// Ends the service.
    func stop() throws
    /// Waits for the service's first instruction.
    func nextStart() throws -> Instant
    /// The service's process, as the observer knows it.
    func process() throws -> Int32
}

/// watchdogd with one service.
final class DaemonSession: SingleSession {
    private let daemon: Daemon
    private var record: Record

    init(_ daemon: Daemon, first: Record) {
        self.daemon = daemon
        record = first
    }

    var request: [String]? { ["launch", daemon.control, "service0"] }
    var command: [String] { [daemon.program, "launch", "--control", daemon.control, "service0"] }

    func stop() throws { _ = try daemon.client.terminate(AppRequest("service0", waits: true)) }

    func nextStart() throws -> Instant {
        record = try daemon.nextRecord()
        return record.time
    }

    func process() throws -> Int32 { record.pid }
}

/// A peer with one service.
final class PeerSingle: SingleSession {
    private let session: any PeerSession
    private var record: Record

    init(_ session: any PeerSession) throws {
        self.session = session
        try session.startAll()
        record = try session.stage.nextRecord()
    }

    var request: [String]? { session.request }
    var command: [String] { get throws { try session.command.unwrapped(or: "it has no command") } }

    func stop() throws {
        let pid = try process()
        try session.stopAll()
        try session.stage.wait(for: "the end of a service", { kill(pid, 0) != 0 })
    }

    func nextStart() throws -> Instant {
        record = try session.stage.nextRecord()
        return record.time
    }

    func process() throws -> Int32 {
        try session.process(record.pid).unwrapped(or: "its service has gone")
    }
}
