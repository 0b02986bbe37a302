// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
public import WatchdogLinux
public import WatchdogReport
public import WatchdogVerdict

/// Runs `watchdogd-symbolicate`, which unwinds the stacks in a snapshot and names their frames.
///
/// The program parses files and bytes from a process that may be hostile. If the supervisor is root, the program
/// therefore runs as a user without other processes. It cannot gain privileges, and gets only the snapshot, the mapped
/// files and two pipes. If that user may not use the program or its libraries, there are no symbols, and a note says
/// so. If root cannot change its user, as in a container without capabilities, the program runs as root, but without
/// any capability or not at all, and a note says so.
///
/// Isolation: immutable; its calls block, so call them on the thread that writes reports.
public struct Symbolicator: Sendable {
    /// The limits of one run.
    public struct Limits: Sendable, Equatable {
        /// The time after which the program omits details; waiting for a CPU does not count.
        public var work: Duration = .seconds(3)
        /// The wall-clock time after which the program is killed.
        public var budget: Duration = .seconds(20)
        /// The CPU time, in whole seconds.
        public var cpuSeconds: UInt64 = 10
        /// The private memory of each process, in bytes.
        public var memory: UInt64 = 2 << 30
        /// The memory of all its processes together, in bytes, with the page cache that it fills and without swap;
        /// applied if watchdogd may create a cgroup with the memory controller.
        ///
        /// A quarter of the machine's memory, but not less than 256 MiB, which large files with debug data need.
        public var groupMemory = Self.groupMemory(ofMachine: Self.machineMemory)
        /// The address space, in bytes: files with debug information are large, and are mapped.
        public var addressSpace: UInt64 = 16 << 30
        /// The size of the answer in bytes.
        public var answer = 16 << 20
        /// The number of bytes of standard error to keep.
        public var message = 4 << 10
        /// The maximum number of processes and threads, if the program has its own user.
        public var processes: UInt64 = 64
        /// The nice value; nil for the supervisor's.
        public var niceness: Int32?

        /// Creates the default limits.
        public init() {}

        static func groupMemory(ofMachine total: UInt64) -> UInt64 { min(2 << 30, max(256 << 20, total / 4)) }

        private static var machineMemory: UInt64 {
            UInt64(clamping: sysconf(Int32(_SC_PHYS_PAGES))).multipliedReportingOverflow(
                by: UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
            ).partialValue
        }
    }

    /// The name of the program, and the first word of its command line, by which watchdogd recognizes this role.
    public static let programName = "watchdogd-symbolicate"

    /// The path of the program; nil if it was not found.
    public let program: String?
    private var limits: Limits
    /// Keeps the program of this release usable after an upgrade, or if its user cannot reach its path.
    private let pinned: OwnedDescriptor?

    /// Creates a symbolicator.
    ///
    /// - Parameters:
    ///   - program: the path of the program; nil to search beside the running program, then in `../libexec/watchdogd`.
    ///   - limits: the limits of each run.
    public init(program: String? = nil, limits: Limits = Limits()) {
        let candidates = program.map { [$0] } ?? Self.candidates
        self.limits = limits
        self.program = candidates.first { access($0, X_OK) == 0 }
        pinned = self.program.flatMap { try? OwnedDescriptor(opening: $0, flags: O_RDONLY) }
    }

    /// The same program with other time limits.
    public func limited(work: Duration, budget: Duration) -> Symbolicator {
        var copy = self
        copy.limits.work = work
        copy.limits.budget = budget
        return copy
    }

    private static let patientWork = Duration.seconds(30)
    private static let patientBudget = Duration.seconds(60)

    /// The same program with more time than a waiting report allows, at the lowest CPU priority.
    public var patient: Symbolicator {
        var copy = limited(
            work: max(limits.work, Self.patientWork), budget: max(limits.budget, Self.patientBudget))
        copy.limits.cpuSeconds = UInt64(clamping: copy.limits.budget.components.seconds)
        copy.limits.niceness = 19
        return copy
    }

    private static var candidates: [String] {
        guard let running = SymbolicLink.target("/proc/self/exe"), let slash = running.lastIndex(of: "/") else {
            return []
        }
        let directory = running[..<slash]
        return ["\(directory)/\(programName)", "\(directory)/../libexec/watchdogd/\(programName)"]
    }

    /// Names a snapshot's frames; on failure, the result contains the snapshot's own facts, and a note with the reason.
    public func symbolicate(_ snapshot: Snapshot) -> CapturedProcess {
        do throws(SymbolicationError) {
            return try run(snapshot)
        } catch {
            return .withoutSymbols(from: snapshot, because: error.description, mayPass: error.mayPass)
        }
    }

    /// Runs the program once; on failure, throws instead of falling back.
    public func run(_ snapshot: Snapshot) throws(SymbolicationError) -> CapturedProcess {
        // Rewind: earlier runs moved the offset, which all duplicates of the descriptor share.
        lseek(snapshot.memory, 0, SEEK_SET)
        let user = ReservedUser.reserved()
        let result = try run(budgeted([]), [snapshot.memory] + snapshot.modules, as: user)
        var captured = try withExtendedLifetime(snapshot) { () throws(SymbolicationError) in
            try CapturedProcess(answer: try result.answer(limits), of: snapshot)
        }
        if Self.keepsRoot(user) { captured.notes.append(Self.noteOfRoot) }
        return captured
    }

    /// Looks up addresses of a stored report.
    ///
    /// - Parameters:
    ///   - request: the addresses.
    ///   - files: a file with debug data for each image in the request.
    public func names(
        _ request: NamingRequest, files: [OwnedDescriptor]
    ) throws(SymbolicationError) -> NamingAnswer {
        precondition(files.count == request.images.count, "each image has a file")
        guard let json = try? JSONEncoder().encode(request), let file = OwnedDescriptor(sealing: Array(json)) else {
            throw SymbolicationError(.notStarted, "was not started: no room for the request")
        }
        let result = try run(
            budgeted(["--names"]), [file.number] + files.map(\.number), as: ReservedUser.reserved())
        let bytes = try withExtendedLifetime((file, files)) { () throws(SymbolicationError) in
            try result.answer(limits)
        }
        guard let answer = try? JSONDecoder().decode(NamingAnswer.self, from: Data(bytes)) else {
            throw SymbolicationError(.malformedAnswer, "printed something other than names")
        }
        if let fault = answer.fault(as: request) {
            throw SymbolicationError(.malformedAnswer, "printed names with \(fault)")
        }
        return answer
    }

    private static let noteOfRoot =
        "The frames were named as root without capabilities: watchdogd may not become another user here."

    /// Whether the program runs as root because watchdogd may not change its user.
    private static func keepsRoot(_ user: ReservedUser?) -> Bool { user == nil && geteuid() == 0 }

    private func run(
        _ arguments: [String], _ descriptors: [Int32], as user: ReservedUser?
    ) throws(SymbolicationError) -> BoundedRun.Result {
        try run(arguments, descriptors, as: user, budget: limits.budget) { request in
            request.limits = resourceLimits(descriptors: request.descriptors.count, of: user)
        }
    }

    /// Runs the program with the given descriptors starting at 3.
    func run(
        _ arguments: [String], _ descriptors: [Int32], as user: ReservedUser?, budget: Duration,
        _ configure: (inout SpawnRequest) -> Void
    ) throws(SymbolicationError) -> BoundedRun.Result {
        guard let program else { throw SymbolicationError(.notFound, "was not found") }
        var request = SpawnRequest(
            executable: ByteString(program), arguments: arguments.map { ByteString($0) }, environment: [:])
        request.descriptors = descriptors.enumerated().map { .init($0.element, as: 3 + Int32($0.offset)) }
        request.workingDirectory = "/"
        request.noNewPrivileges = true
        request.fileModeMask = 0o077
        request.credentials = user?.credentials
        request.dropsCapabilities = Self.keepsRoot(user)
        request.launchLimit = limits.budget
        request.niceness = limits.niceness
        // The limits of a single process are not enough: several processes and their mapped files could make the
        // machine swap. If memory runs out nevertheless, the OOM killer chooses this program.
        let group = try? MemoryGroup(name: Self.programName, limit: limits.groupMemory)
        request.cgroup = group?.directory
        // Only root may write oom_score_adj of a process that is not dumpable: proc_pid_oom_score_adj(5).
        request.oomScoreAdjustment = geteuid() == 0 ? 1_000 : nil
        configure(&request)
        let run = try BoundedRun(
            budget: budget,
            outputLimit: limits.answer,
            messageLimit: limits.message,
            request: request,
            start: start
        )
        var result = withExtendedLifetime((user, group)) { run.finish() }
        if case .ended(.signaled(SIGKILL, _)) = result.end, group?.hasKilled == true { result.end = .outOfMemory }
        return result
    }

    /// Adds the time after which the program leaves out details.
    private func budgeted(_ arguments: [String]) -> [String] {
        [Self.programName] + arguments + ["--budget", "\(max(1, limits.work.nanoseconds / 1_000_000))ms"]
    }

    // MARK: Starting

    func resourceLimits(descriptors: Int, of user: ReservedUser?) -> [ResourceLimit] {
        func limit(_ resource: ResourceLimit.Resource, _ soft: UInt64, hard: UInt64? = nil) -> ResourceLimit {
            // Raising a hard limit requires privileges.
            let most = (try? ResourceLimit.current(resource).hard) ?? soft
            return ResourceLimit(resource, soft: min(soft, most), hard: min(hard ?? soft, most))
        }
        // RLIMIT_NPROC counts all tasks of the user, setrlimit(2): the user of a desktop has more than the limit, so
        // the program could not fork a worker.
        let processes = user?.isExclusive == true ? [limit(.processes, limits.processes)] : []
        return processes + [
            limit(.addressSpace, limits.addressSpace),
            limit(.data, limits.memory),
            // SIGXCPU at the soft limit shows why the program died; SIGKILL at the hard limit does not.
            limit(.cpu, limits.cpuSeconds, hard: limits.cpuSeconds + 1),
            limit(.fileSize, 0),
            limit(.core, 0),
            limit(.openFiles, UInt64(descriptors) + 256),
        ]
    }

    /// Starts the program, even if its path is in a directory that only root may enter.
    private func start(_ original: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
        var request = original
        if let pinned, !isAtItsPath(pinned) { use(pinned, &request) }
        do throws(SpawnError) {
            return try spawn(request)
        } catch {
            switch (error.stage, error.errno) {
            case (.oomScore, _):
                // /proc may be read-only: try without the adjustment.
                request.oomScoreAdjustment = nil
            case (.execute, .permissionDenied), (.execute, .noSuchFile):
                guard let pinned else { throw error }
                use(pinned, &request)
            default:
                throw error
            }
        }
        return try spawn(request)
    }

    private func isAtItsPath(_ pinned: OwnedDescriptor) -> Bool {
        guard let program else { return false }
        var there = stat()
        var here = stat()
        return stat(program, &there) == 0 && fstat(pinned.number, &here) == 0 && there.st_dev == here.st_dev
            && there.st_ino == here.st_ino
    }

    private func use(_ pinned: OwnedDescriptor, _ request: inout SpawnRequest) {
        guard !request.descriptors.contains(where: { $0.source == pinned.number }) else { return }
        let target = (request.descriptors.map(\.target).max() ?? 2) + 1
        request.descriptors.append(.init(pinned.number, as: target))
        request.executable = ByteString("/proc/self/fd/\(target)")
    }
}

extension BoundedRun.Result {
    /// The output of a successful run.
    fileprivate func answer(_ limits: Symbolicator.Limits) throws(SymbolicationError) -> [UInt8] {
        switch end {
        case .overBudget:
            throw SymbolicationError(.overBudget, "did not end within \(limits.budget)", message: message)
        case .tooMuchOutput:
            throw SymbolicationError(.tooMuchOutput, "wrote more than \(limits.answer) bytes", message: message)
        case .outOfMemory:
            let limit = "\(limits.groupMemory >> 20) MiB"
            throw SymbolicationError(.overBudget, "used more than \(limit) of memory", message: message)
        case .ended(.exited(code: 0)), .ended(.unknown):
            // Another thread, which reaps orphans, may have consumed the status. The answer itself shows whether the
            // run succeeded.
            return output
        case .ended(.exited(let code)):
            throw SymbolicationError(.failed, "exited with code \(code)", message: message)
        case .ended(.signaled(SIGXCPU, _)):
            throw SymbolicationError(.overBudget, "used \(limits.cpuSeconds) s of CPU time", message: message)
        case .ended(.signaled(let signal, _)):
            throw SymbolicationError(.failed, "was ended by signal \(signal)", message: message)
        }
    }
}
