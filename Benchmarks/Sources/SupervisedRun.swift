// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

/// One `watchdogd run` of a program that hangs, watched from outside.
final class SupervisedRun {
    /// Before `watchdogd` was started.
    private(set) var requested: Instant
    private(set) var records: [Record] = []
    /// When poll(2) showed the end of the program.
    private(set) var deathSeen: Instant?
    /// When poll(2) showed the end of its witness, which has real-time priority.
    private(set) var witnessDeathSeen: Instant?
    /// When `watchdogd` printed the report's path.
    private(set) var reportSaid: Instant?
    private(set) var isOver = false

    let supervisor: Pidfd
    private let watcher: Watcher
    private let output: OwnedDescriptor
    private let messages: OwnedDescriptor
    private let summaryPath: String
    private var program: Pidfd?
    private var witness: Pidfd?
    private var text: [UInt8] = []

    init(_ environment: Bench, _ watcher: Watcher, options: [String], command: [String]) throws {
        self.watcher = watcher
        summaryPath = environment.freshPath("summary.json")
        let (output, outputEnd) = try OwnedDescriptor.pipe()
        let (messages, messagesEnd) = try OwnedDescriptor.pipe()
        self.output = output
        self.messages = messages
        let arguments = ["run", "--json", summaryPath, "--reports", environment.reports] + options + ["--"] + command
        requested = .now()
        supervisor = try spawn(
            .underTest(
                environment.watchdogd, arguments, output: outputEnd.number, messages: messagesEnd.number)
        ).process
        withExtendedLifetime((outputEnd, messagesEnd)) {}
        watcher.watch(output.number) { [unowned self] _ in readRecord() }
        watcher.watch(messages.number) { [unowned self] in readMessage(at: $0) }
        watcher.watch(supervisor.descriptor.number) { [unowned self] _ in supervisorEnded() }
    }

    deinit {
        for descriptor in [output, messages, supervisor.descriptor] { watcher.ignore(descriptor.number) }
        for process in [program, witness].compactMap(\.self) {
            watcher.ignore(process.descriptor.number)
            if !isOver { try? process.send(SIGKILL) }
        }
        guard !isOver else { return }
        try? supervisor.send(SIGKILL)
        _ = try? supervisor.waitExit()
    }

    private func readRecord() {
        guard let record = try? Record.read(from: output) else { return watcher.ignore(output.number) }
        records.append(record)
        if record.kind == .witness {
            witness = watchEnd(of: record.pid) { [unowned self] in witnessDeathSeen = $0 }
        } else if program == nil {
            program = watchEnd(of: record.pid) { [unowned self] in deathSeen = $0 }
        }
    }

    private func watchEnd(of pid: Int32, _ seen: @escaping (Instant) -> Void) -> Pidfd? {
        guard let process = try? Pidfd(opening: pid) else { return nil }
        let descriptor = process.descriptor.number
        watcher.watch(descriptor) { [unowned self] in
            seen($0)
            watcher.ignore(descriptor)
        }
        return process
    }

    private func readMessage(at now: Instant) {
        let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, read(messages.number, buffer.baseAddress, buffer.count))
        }
        guard !chunk.isEmpty else { return watcher.ignore(messages.number) }
        text += chunk
        if reportSaid == nil, message.contains(".ips") { reportSaid = now }
    }

    /// What `watchdogd` wrote to its standard error.
    var message: String { String(decoding: text, as: UTF8.self) }

    private func supervisorEnded() {
        isOver = (try? supervisor.waitExit()) != nil
        if isOver { watcher.ignore(supervisor.descriptor.number) }
    }

    // MARK: - What it says of itself

    /// What is read of the summary.
    struct Summary: Decodable {
        struct Incident: Decodable {
            var report: String?
        }

        struct Pings: Decodable {
            var count: Int
            var p50Milliseconds: Double?
            var p99Milliseconds: Double?
        }

        var termination: String
        var incidents: [Incident]
        var pings: Pings
    }

    func summary() throws -> Summary {
        guard let data = FileManager.default.contents(atPath: summaryPath) else {
            throw Failure("watchdogd wrote no summary; it said: \(message)")
        }
        return try JSONDecoder().decode(Summary.self, from: data)
    }

    /// The `linux` object of the report of the kill.
    func report() throws -> LinuxDetails {
        let summary = try summary()
        guard summary.termination == "watchdog", let path = summary.incidents.last?.report else {
            throw Failure("watchdogd did not kill as expected; it said: \(message)")
        }
        return try LinuxDetails.read(path)
    }
}

extension Optional {
    func unwrapped(or problem: String) throws -> Wrapped {
        guard let self else { throw Failure(problem) }
        return self
    }
}
