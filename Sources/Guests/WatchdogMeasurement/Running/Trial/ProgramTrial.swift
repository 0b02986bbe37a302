// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux
import WatchdogWire

/// Launches a program once, observes it for a while, and terminates it with all its processes.
///
/// Isolation: belongs to one thread.
public final class ProgramTrial {
    /// The allowance for `WATCHDOG=1` that the program gets: short, so that it sends some in a short trial.
    static let heartbeat = Duration.seconds(2)
    /// The additional observation time of a ready program, for more listening sockets and heartbeats.
    static let afterReady = Duration.seconds(3)
    /// The time limit of its termination.
    public static let termination = Duration.seconds(5)

    private let name: String
    private let program: ProgramUnderTest
    private let sockets: ListeningSockets
    private let messages: ProgramSockets
    private let interruption: OwnedDescriptor
    private let start: Instant
    private let limit: Duration
    private var known: Set<UInt32> = []
    private var lastNews: Instant
    private var findings: TrialFindings

    /// Launches the program.
    ///
    /// - Parameters:
    ///   - limit: the maximum observation time.
    ///   - showsOutput: whether its output goes to standard error; otherwise it is discarded.
    /// - Throws: ``MeasuringError`` if it cannot be launched.
    public init(
        _ command: [String], environment: Environment, within limit: Duration, showsOutput: Bool
    ) throws(MeasuringError) {
        name = command[0]
        self.limit = limit
        do {
            let executable = try resolveExecutable(name, path: environment.searchPath)
            try Subreaper.become()
            interruption = try Interruption.descriptor()
            let messages = try ProgramSockets(name: "trial")
            self.messages = messages
            sockets = try ListeningSockets()
            known = try sockets.inodes()
            defer { messages.releaseProgramEnd() }
            var request = SpawnRequest(executable: executable, arguments: command, environment: environment)
            // Variables of an outer watchdogd do not apply to this program.
            for name in [Wire.Environment.state, Wire.Environment.event] { request.environment[name] = nil }
            request.environment[Wire.Environment.watchdogMicroseconds] = "\(Self.heartbeat.nanoseconds / 1_000)"
            request.processIdVariables = [Wire.Environment.watchdogProcess]
            request.descriptors = []
            messages.pass(to: &request)
            start = .now()
            lastNews = start
            program = try ProgramUnderTest(
                request, output: showsOutput ? .shown : .tail, marker: ("WATCHDOGD_TRIAL", "\(getpid())"))
            // Use the resolved path, which an app file needs, even if the command is a link or was found in PATH.
            findings = TrialFindings(
                command: [executable] + command.dropFirst(), observed: .zero, end: .killed(after: .zero))
        } catch let error as ExecutableLookupError {
            throw .lookup(error)
        } catch let error as SpawnError {
            throw .spawn(error, of: name)
        } catch {
            throw .refused("\(error)")
        }
    }

    /// Observes the program, and ends it.
    ///
    /// - Throws: ``MeasuringError`` if the user interrupts, or a process survives SIGKILL. Otherwise, no process
    ///   remains.
    public func run() throws(MeasuringError) -> TrialFindings {
        do throws(MeasuringError) {
            try observe()
            findings.observed = .now() - start
            if !program.process.hasExited {
                askForPages()
                try terminate()
            } else {
                collect()
            }
            try sweep()
        } catch {
            try? sweep()
            throw error
        }
        program.errors?.read()
        findings.lastLine = program.errors?.lastLine
        return findings
    }

    // MARK: - Observation

    private func observe() throws(MeasuringError) {
        while !program.process.hasExited {
            listen()
            let now = Instant.now()
            let isComplete =
                findings.launch != nil && now - lastNews >= (findings.heartbeats > 1 ? .seconds(1) : Self.afterReady)
            guard now - start < limit, !isComplete else { break }
            // The kernel does not announce listening sockets, so poll.
            try wait(max(.milliseconds(1), (now - start) / 100))
        }
        listen()
    }

    private func wait(_ time: Duration) throws(MeasuringError) {
        if program.wait(until: .now() + time, for: messages.descriptors, or: interruption) { throw .interrupted }
    }

    private func listen() {
        program.errors?.read()
        messages.receive { source, message in
            switch source {
            case .notify: take(NotifyMessage(decoding: message.bytes))
            case .channel: take(ClientMessage(decoding: message.bytes))
            }
        }
        look()
    }

    private func take(_ message: NotifyMessage) {
        if message.watchdog == .alive { findings.heartbeats += 1 }
        if message.isReady { becomeReady(.notify) }
    }

    private func take(_ message: ClientMessage) {
        if message.hello != nil, findings.hello == nil {
            findings.hello = .now() - start
            lastNews = .now()
        }
        if message.isReady { becomeReady(.channel) }
    }

    private func becomeReady(_ source: TrialFindings.Source) {
        guard findings.ready == nil else { return }
        lastNews = .now()
        findings.ready = TrialFindings.Readiness(time: lastNews - start, source: source)
    }

    /// Looks for new listening sockets of the program.
    private func look() {
        guard let inodes = try? sockets.inodes(), !inodes.isSubset(of: known) else { return }
        known.formUnion(inodes)
        let now = Instant.now()
        for address in program.tree.processes().flatMap(ListeningSockets.addresses(of:))
        where !findings.listeners.contains(where: { $0.address == address }) && findings.listeners.count < 64 {
            findings.listeners.append(TrialFindings.Listener(address: address, time: now - start))
            lastNews = now
        }
    }

    private func askForPages() {
        for index in findings.listeners.indices.prefix(8) where findings.listeners[index].isInternet {
            findings.listeners[index].httpStatus = TrialQuestion.httpStatus(
                at: findings.listeners[index].address, within: .seconds(3))
        }
    }

    // MARK: - The end

    private func terminate() throws(MeasuringError) {
        let asked = Instant.now()
        if findings.hello != nil { messages.send(Array("TERMINATE=1".utf8)) }
        if program.terminate(within: Self.termination, or: interruption) { throw .interrupted }
        let time = Instant.now() - asked
        findings.end = program.process.hasExited ? .terminated(after: time) : .killed(after: time)
    }

    /// Collects the findings about a program that exited by itself.
    private func collect() {
        let status = (try? program.process.waitExit())?.status ?? .unknown
        findings.end = .exited(code: status.shellCode, time: findings.observed)
        findings.leftBehind = program.tree.processes().count(where: { $0 != program.process.pid })
    }

    /// Kills and reaps the remaining processes.
    private func sweep() throws(MeasuringError) {
        if let survivor = program.kill(within: Self.termination) {
            throw .refused("\(name): process \(survivor) survives SIGKILL")
        }
    }
}

extension TrialFindings.Listener {
    /// Whether the address is a TCP port.
    fileprivate var isInternet: Bool { !address.hasPrefix("/") && !address.hasPrefix("@") }
}
