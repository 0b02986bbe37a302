// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogPolicy

/// The details of an unexpected end of a process.
public struct CrashDetails: Codable, Equatable, Sendable {
    /// The source of the stacks.
    public enum StackSource: String, Codable, Sendable, CaseIterable {
        /// From a core file that the kernel wrote.
        case core
        /// From systemd-coredump's journal entry.
        case journal
        /// No source: there are no stacks.
        case none
    }

    /// The signal that killed the process.
    public var signal: Int?
    /// The name of the signal.
    public var signalName: String?
    /// The exit code.
    public var exitCode: Int?
    /// Whether the process had been requested to exit.
    public var wasEnding: Bool
    /// Whether the kernel reported a core dump, to a file or a program.
    public var isCoreDumped: Bool
    /// The cause of the signal: `si_code` of sigaction(2).
    public var code: Int?
    /// The name of the code.
    public var codeName: String?
    /// The fault address for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGTRAP.
    public var address: UInt64?
    /// The process that sent the signal.
    public var senderPID: Int?
    /// The user of the sender.
    public var senderUserID: Int?
    /// The thread that received the signal.
    public var thread: Int?
    /// The number of the cgroup's processes that the OOM killer has killed since the launch.
    public var memoryKills: Int?
    /// The number of those killed shortly before the end; nil if the counter was not read shortly before.
    public var recentMemoryKills: Int?
    /// The source of the stacks.
    public var stackSource: StackSource = .none
    /// The source in words, or the reason why there are no stacks: `from the core file /srv/core.4711`.
    public var stacks: String

    /// Creates details from the wait status alone.
    public init(_ crash: Crash, stacks: String = "none: nobody looked for them") {
        wasEnding = crash.wasEnding
        isCoreDumped = false
        self.stacks = stacks
        switch crash.status {
        case .exited(let code): exitCode = Int(code)
        case .signaled(let signal, let coreDumped):
            self.signal = Int(signal)
            signalName = SignalName.of(Int(signal))
            isCoreDumped = coreDumped
        case .unknown: break
        }
    }

    /// Whether a signal or an exit code is known.
    public var isKnown: Bool { signal != nil || exitCode != nil }

    /// Whether the OOM killer killed the process; nil if it may have.
    package var isMemoryKill: Bool? {
        guard signal == SignalText.kill, let memoryKills, memoryKills > 0 else { return false }
        return recentMemoryKills.map { $0 > 0 }
    }

    /// Records the signal's number and name.
    public mutating func note(signal number: Int) {
        signal = number
        signalName = SignalName.of(number)
    }

    /// Records the kernel's information about the signal.
    public mutating func note(_ info: SignalInfo) {
        guard signal == nil || signal == info.signal else { return }
        note(signal: info.signal)
        code = info.code
        codeName = SignalText.codeName(info.code, of: info.signal)
        address = info.address
        senderPID = info.senderPID
        senderUserID = info.senderUserID
    }
}

/// The kernel's information about a signal: siginfo_t of sigaction(2).
public struct SignalInfo: Equatable, Sendable {
    /// The signal.
    public var signal: Int
    /// `si_code`.
    public var code: Int
    /// The fault address.
    public var address: UInt64?
    /// The process that sent it.
    public var senderPID: Int?
    /// The user of the sender.
    public var senderUserID: Int?

    /// Reads the fields that a code makes valid.
    ///
    /// - Parameters:
    ///   - signal: the signal.
    ///   - code: `si_code`: positive from the kernel, zero or negative from a process.
    ///   - union: the first eight bytes after the common fields.
    public init(signal: Int, code: Int, union: UInt64) {
        self.signal = signal
        self.code = code
        // SI_KERNEL, 0x80: the address is unknown, for example that of a non-canonical access.
        if SignalText.faults.contains(signal), (1..<0x80).contains(code) { address = union }
        // SI_USER, SI_QUEUE, SI_TKILL; signals from timers and the like have no sender.
        if [0, -1, -6].contains(code) {
            senderPID = Int(UInt32(truncatingIfNeeded: union))
            senderUserID = Int(UInt32(truncatingIfNeeded: union >> 32))
        }
    }
}
