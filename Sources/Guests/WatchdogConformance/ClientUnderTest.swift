// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogWire

/// One launch of the program under test; the last reference kills it.
///
/// Isolation: one thread.
final class ClientUnderTest {
    /// The connection between the program and the session.
    enum Connection {
        /// A channel.
        case channel
        /// A channel, in a launch that allows faults.
        case channelWithFaults
        /// No channel; the program gets these variables in its environment.
        case none([String: String])
    }

    private let program: ProgramUnderTest
    private(set) var conduct = Conduct()
    private(set) var exit: ExitStatus?
    private(set) var isClosed = false
    private var channel: Channel?
    private let interruption: OwnedDescriptor
    /// The inode of the program's end of the channel, by which inherited copies are found.
    private let inode: UInt64?

    /// The number of the channel in the program: the first one after the standard streams.
    private static let channelNumber: Int32 = 3

    init(
        _ plan: ConformancePlan, executable: String, number: Int, connection: Connection,
        interruption: OwnedDescriptor
    ) throws(ConformanceError) {
        self.interruption = interruption
        do {
            var request = SpawnRequest(
                executable: executable, arguments: plan.command, environment: plan.environment)
            request.descriptors = []
            for name in [
                Wire.Environment.notifySocket, Wire.Environment.channel, Wire.Environment.watchdogMicroseconds,
                Wire.Environment.faults,
            ] {
                request.environment[name] = nil
            }
            var end: OwnedDescriptor?
            switch connection {
            case .channel, .channelWithFaults:
                if case .channelWithFaults = connection { request.environment[Wire.Environment.faults] = "1" }
                let pair = try Channel.pair()
                (channel, end) = (pair.supervisor, pair.app)
                request.environment[Wire.Environment.channel] = "\(Self.channelNumber)"
                request.descriptors.append(.init(pair.app.number, as: Self.channelNumber))
            case .none(let variables):
                for (name, value) in variables { request.environment[name] = value }
                if variables[Wire.Environment.watchdogMicroseconds] != nil {
                    request.processIdVariables = [Wire.Environment.watchdogProcess]
                }
            }
            inode = end.flatMap { Self.inode(of: $0) }
            program = try withExtendedLifetime(end) {
                try ProgramUnderTest(
                    request, output: plan.showsOutput ? .shown : .discarded,
                    marker: ("WATCHDOGD_CONFORMANCE", "\(getpid())-\(number)"))
            }
        } catch let error as SpawnError {
            throw ConformanceError("\(plan.command[0]): \(error)", exitCode: error.sysexit)
        } catch {
            throw ConformanceError("\(error)", exitCode: 71)
        }
    }

    deinit { kill() }

    /// Kills and reaps all processes of the launch.
    func kill() { program.kill() }

    /// The process that executes the program.
    var process: Pidfd { program.process }

    // MARK: Talking

    /// Sends a datagram; false if the socket is full or the program has closed its end.
    @discardableResult
    func say(_ bytes: [UInt8]) -> Bool {
        guard let sending = try? channel?.send(bytes) else { return false }
        return sending == .sent
    }

    @discardableResult
    func say(_ lines: String...) -> Bool { say(Array(lines.joined(separator: "\n").utf8)) }

    func say(_ message: SupervisorMessage) { say(message.datagram) }

    func closeChannel() {
        listen()
        channel = nil
    }

    /// Reads all datagrams that have arrived.
    func listen() {
        // Bounded, so that a client that sends without end cannot keep this from returning.
        for _ in 0..<4_096 {
            switch try? channel?.receive() {
            case .message(let message):
                conduct.take(message.bytes, isTruncated: message.isTruncated, at: .now())
            case .closed:
                isClosed = true
                channel = nil
                return
            case .nothing, nil:
                return
            }
        }
    }

    /// Waits until a condition holds, the program exits, or the limit has passed.
    ///
    /// - Returns: whether the condition holds.
    func wait(_ limit: Duration, until condition: (Conduct) -> Bool) throws(ConformanceError) -> Bool {
        let end = Instant.now() + limit
        while true {
            listen()
            if condition(conduct) { return true }
            if hasExited { return false }
            let left = end - .now()
            guard left > .zero else { return false }
            try pause(left)
        }
    }

    /// Waits for the program's exit, and reads its messages meanwhile.
    func waitForExit(_ limit: Duration) throws(ConformanceError) -> ExitStatus? {
        _ = try wait(limit) { _ in false }
        return exit
    }

    /// Waits until a message arrives or the program exits; reads nothing.
    func pause(_ limit: Duration, isDeaf: Bool = false) throws(ConformanceError) {
        let descriptors = isDeaf ? [] : [channel?.descriptor.number].compactMap(\.self)
        if program.wait(until: .now() + limit, for: descriptors, or: interruption) { throw .interrupted }
    }

    /// Reaps the program if it has exited, and returns whether it has.
    var hasExited: Bool {
        if exit == nil, process.hasExited {
            listen()
            exit = (try? process.waitExit()?.status) ?? .unknown
        }
        return exit != nil
    }

    /// The share of one CPU that the idle program uses over a time.
    func load(over time: Duration) throws(ConformanceError) -> Double {
        let before = demand
        let start = Instant.now()
        _ = try wait(time) { _ in false }
        return max(0, (demand - before) / max(.now() - start, .milliseconds(1)))
    }

    /// The time in which its threads ran or waited for a CPU: on a busy machine, a busy loop mostly waits.
    private var demand: Duration {
        let schedules = program.tree.processes().flatMap { process in
            Procfs.numbers(in: "/proc/\(process)/task").compactMap { ThreadSchedule.read(process, thread: $0) }
        }
        return schedules.reduce(.zero) { $0 + $1.runTime + $1.runDelay }
    }

    // MARK: The channel in the program

    /// The descriptors of a process that refer to the channel and would survive an `execve`.
    func inheritableChannels(of pid: Int32) -> [Int32] {
        guard let inode else { return [] }
        let folder = "/proc/\(pid)/fd"
        return Procfs.numbers(in: folder).filter { number in
            SymbolicLink.target("\(folder)/\(number)") == "socket:[\(inode)]"
                && Procfs.text("/proc/\(pid)/fdinfo/\(number)").map { !Self.isClosedOnExec($0) } ?? false
        }
    }

    /// Reads the octal `flags:` of fdinfo: proc(5); 02000000 is O_CLOEXEC.
    static func isClosedOnExec(_ information: String) -> Bool {
        let line = information.split(separator: "\n").first { $0.hasPrefix("flags:") }
        let flags = line.flatMap { Int($0.dropFirst(6).filter { !$0.isWhitespace }, radix: 8) } ?? 0
        return flags & Int(O_CLOEXEC) != 0
    }

    private static func inode(of descriptor: OwnedDescriptor) -> UInt64? {
        var status = stat()
        return fstat(descriptor.number, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
