// SPDX-License-Identifier: Apache-2.0

import CLinux
public import WatchdogBase

/// A question about a process whose answer may block the reader.
///
/// `/proc/PID/environ`, process_vm_readv(2) and others take the process's `mmap_lock`, which the process can hold
/// indefinitely, and fault in its pages, which may lie on a FUSE file system. Some of these waits end only when the
/// reader is killed.
public struct Examination<Answer> {
    let request: ExaminerFields
    private let decode: (inout ExaminerFields) -> Answer?

    fileprivate init(
        _ kind: ExaminationKind, _ subject: ExaminedProcess, _ decode: @escaping (inout ExaminerFields) -> Answer?
    ) {
        var fields = ExaminerFields()
        fields.append(kind.rawValue)
        fields.append(subject.id)
        fields.append(subject.startTime)
        fields.append(subject.cgroup)
        request = fields
        self.decode = decode
    }

    fileprivate init(_ other: Examination, adding field: String) {
        var fields = other.request
        fields.append(field)
        request = fields
        decode = other.decode
    }

    func answer(in fields: ExaminerFields) -> Answer? {
        var fields = fields
        return decode(&fields)
    }
}

/// The process to examine.
public struct ExaminedProcess: Hashable, Sendable {
    /// The process ID.
    public let id: Int32
    /// The start time in clock ticks since boot, which distinguishes the process from a later one with the same ID.
    public let startTime: UInt64
    /// The directory of the app's cgroup; nil when there is none.
    public let cgroup: String?

    /// Identifies a process.
    public init(id: Int32, startTime: UInt64, cgroup: String?) {
        self.id = id
        self.startTime = startTime
        self.cgroup = cgroup
    }

    /// The app's processes; without a cgroup, also orphans of its session, which may be others'.
    var family: [Int32] { inCgroup ?? WaitLook.processes(from: id) }

    /// The app's processes without those that may be others'.
    var members: [Int32] { inCgroup ?? Procfs.withDescendants([id], limit: 64) }

    private var inCgroup: [Int32]? { cgroup.flatMap { try? Cgroup(opening: $0) }?.processes() }

    var exists: Bool { ProcessStat.read(id)?.startTime == startTime }
}

/// What a thread is blocked in.
public struct BlockedThread: Hashable, Sendable {
    /// The contents of `/proc/PID/task/TID/syscall`, verbatim.
    public let syscall: String
    /// What the thread waits for; nil when nothing beyond that text is known.
    public let chain: WaitChain?
    /// What other threads of the process wait for, in calls that wait for somebody's answer.
    public let besides: [Wait]

    /// Whether it may be a file lock that a program outside the app holds.
    public var mayAwaitStranger: Bool {
        guard let last = chain?.waits.last, last.holder == nil else { return false }
        return BlockedCall(parsing: last.syscall).map { [WD_CALL_FLOCK, WD_CALL_FCNTL].contains($0.kind) } ?? false
    }

    /// Whether nobody outside the process is waited for, so that a trail from here would be empty: the thread sleeps, waits
    /// for a signal or for its process's own memory, or is part of a deadlock in it.
    ///
    /// False also if that is not known.
    public var staysInProcess: Bool {
        guard let chain, let last = chain.waits.last else { return Self.staysInProcess(syscall) }
        guard chain.waits.allSatisfy({ $0.process == last.process }) else { return false }
        return chain.cycleStart != nil || last.holder == nil && Self.staysInProcess(last.syscall)
    }

    private static func staysInProcess(_ syscall: String) -> Bool {
        guard let call = BlockedCall(parsing: syscall) else { return false }
        switch call.kind {
        case WD_CALL_SLEEP, WD_CALL_PAUSE, WD_CALL_SUSPEND, WD_CALL_SIGNAL: return true
        // FUTEX_PRIVATE_FLAG: the word is of no other process, futex(2).
        case WD_CALL_FUTEX: return call.integer(1) & 128 != 0
        default: return false
        }
    }
}

enum ExaminationKind: String {
    case waits, waitsWithinApp, waitsAhead, trail, server, askedServer, variable, journalStream, locks
}

extension Examination where Answer == BlockedThread {
    /// What a thread of the process is blocked in, and who holds it up.
    ///
    /// - Parameters:
    ///   - isWithinApp: whether only the app's own processes count as holders of file locks: the search among all takes some
    ///     milliseconds.
    ///   - isAhead: whether a deadline is near: for a wait that may lead to another process, the examiner then also reads which
    ///     processes have which sockets and pipes open, which a trail needs and which takes longer than all else.
    public static func waits(
        of process: ExaminedProcess, thread: Int32, isWithinApp: Bool = false, isAhead: Bool = false
    ) -> Examination {
        let kind: ExaminationKind = isAhead ? .waitsAhead : isWithinApp ? .waitsWithinApp : .waits
        let examination = Examination(kind, process) { fields in
            guard let syscall = fields.text(), let hasChain: Int = fields.number() else { return nil }
            let chain = hasChain == 1 ? WaitChain(reading: &fields) : nil
            guard (chain != nil) == (hasChain == 1),
                let besides = fields.list(limit: WaitLook.most, Wait.init(reading:))
            else { return nil }
            return BlockedThread(syscall: syscall, chain: chain, besides: besides)
        }
        return Examination(examination, adding: String(thread))
    }
}

extension Examination where Answer == WaitTrail {
    /// Which processes a thread's wait leads to, one after the other.
    public static func trail(of process: ExaminedProcess, thread: Int32) -> Examination {
        Examination(Examination(.trail, process) { WaitTrail(reading: &$0) }, adding: String(thread))
    }
}

extension Examination where Answer == ServingProcess? {
    /// Which process of an app should answer a connection; the answer is nil if that is not known.
    ///
    /// - Parameters:
    ///   - process: the main process of the app.
    ///   - connection: the connection.
    ///   - preferred: who is meant if several may be.
    public static func server(
        of process: ExaminedProcess, for connection: UnansweredConnection, preferring preferred: Int32?
    ) -> Examination {
        let examination = Examination(.server, process) { fields in
            fields.list(limit: 1) { ServingProcess(reading: &$0) }.map(\.first)
        }
        let fields = [connection.accepted ?? 0, UInt32(bitPattern: preferred ?? 0)].map(String.init)
        return (fields + [connection.address.description]).reduce(examination) { Examination($0, adding: $1) }
    }

    /// Which process of an app should answer a command that probes it; the answer is nil if that is not known.
    ///
    /// - Parameters:
    ///   - process: the main process of the app.
    ///   - command: the first process of the command.
    ///   - preferred: who is meant if several may be.
    public static func server(
        of process: ExaminedProcess, askedBy command: ExaminedProcess, preferring preferred: Int32?
    ) -> Examination {
        let examination = Examination(.askedServer, process) { fields in
            fields.list(limit: 1) { ServingProcess(reading: &$0) }.map(\.first)
        }
        let fields = ["\(command.id)", "\(command.startTime)", "\(UInt32(bitPattern: preferred ?? 0))"]
        return fields.reduce(examination) { Examination($0, adding: $1) }
    }
}

extension Examination where Answer == String? {
    /// A variable in the environment with which the process was started; the answer is nil if it is not set.
    public static func variable(_ name: String, of process: ExaminedProcess) -> Examination {
        Examination(Examination(.variable, process) { $0.optionalText() }, adding: name)
    }
}

extension Examination where Answer == Bool {
    /// Whether the standard error or output of the process is the stream to journald that it was started with.
    ///
    /// stat(2) on another process's descriptor calls its file system.
    public static func journalStream(of process: ExaminedProcess) -> Examination {
        Examination(.journalStream, process) { $0.number().map { (number: Int) in number == 1 } }
    }
}

extension Examination where Answer == [LockedFile] {
    /// The file locks that an app holds.
    ///
    /// - Parameters:
    ///   - process: the main process of the app.
    ///   - processes: all processes of the app; only the first 4,096 are examined.
    public static func locks(of process: ExaminedProcess, in processes: [Int32]) -> Examination {
        let examination = Examination(.locks, process) { fields in
            fields.list(limit: HeldLocks.limit) { LockedFile(reading: &$0) }
        }
        return Examination(examination, adding: processes.prefix(4_096).map(String.init).joined(separator: " "))
    }
}
