// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// How a process ended that nobody had asked to, and how much is known of that.
public struct CrashDetails: Codable, Equatable, Sendable {
    /// Where the stacks come from.
    public enum StackSource: String, Codable, Sendable, CaseIterable {
        /// From a core file of the kernel.
        case core
        /// From the entry that systemd-coredump has left in the journal.
        case journal
        /// There are none.
        case none
    }

    /// The signal that ended it.
    public var signal: Int?
    /// The signal's name.
    public var signalName: String?
    /// The code with which it exited.
    public var exitCode: Int?
    /// Whether it had been asked to end.
    public var wasEnding: Bool
    /// Whether the kernel says that it has written a core, or given it to a program.
    public var isCoreDumped: Bool
    /// Why the signal was sent: `si_code` of sigaction(2).
    public var code: Int?
    /// The code's name.
    public var codeName: String?
    /// The address that was hit, of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGTRAP.
    public var address: UInt64?
    /// The process that sent the signal.
    public var senderPID: Int?
    /// The sender's user.
    public var senderUserID: Int?
    /// The thread to which the signal was delivered.
    public var thread: Int?
    /// How many processes of its cgroup the kernel has killed since the launch because memory was short.
    public var memoryKills: Int?
    /// How many of them shortly before the end; nil where nobody looked shortly before.
    public var recentMemoryKills: Int?
    /// Where the stacks come from.
    public var stackSource: StackSource = .none
    /// The same for the reader, and where there are none, why: `from the core file /srv/core.4711`.
    public var stacks: String

    /// What the wait status alone says.
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

    /// Whether anything says that this was a crash at all.
    public var isKnown: Bool { signal != nil || exitCode != nil }

    /// Whether the kernel ended the process because memory was short; nil for perhaps.
    var isMemoryKill: Bool? {
        guard signal == SignalText.kill, let memoryKills, memoryKills > 0 else { return false }
        return recentMemoryKills.map { $0 > 0 }
    }

    /// Takes over which signal it was.
    public mutating func note(signal number: Int) {
        signal = number
        signalName = SignalName.of(number)
    }

    /// Takes over what the kernel told of the signal.
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

/// Why a signal was sent: siginfo_t of sigaction(2).
public struct SignalInfo: Equatable, Sendable {
    /// The signal.
    public var signal: Int
    /// `si_code`.
    public var code: Int
    /// The address that was hit.
    public var address: UInt64?
    /// The process that sent it.
    public var senderPID: Int?
    /// The sender's user.
    public var senderUserID: Int?

    /// Reads the fields that a code makes valid.
    ///
    /// - Parameters:
    ///   - signal: the signal.
    ///   - code: `si_code`: above 0 the kernel's, at most 0 a process's.
    ///   - union: the first eight bytes behind the common fields.
    public init(signal: Int, code: Int, union: UInt64) {
        self.signal = signal
        self.code = code
        // SI_KERNEL, 0x80: the kernel does not know the address, such as of an access beyond those that there can be.
        if SignalText.faults.contains(signal), (1..<0x80).contains(code) { address = union }
        // SI_USER, SI_QUEUE, SI_TKILL; of timers and the like there is no sender.
        if [0, -1, -6].contains(code) {
            senderPID = Int(UInt32(truncatingIfNeeded: union))
            senderUserID = Int(UInt32(truncatingIfNeeded: union >> 32))
        }
    }
}
