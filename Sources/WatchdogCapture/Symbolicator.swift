// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
public import WatchdogLinux
import WatchdogPolicy
public import WatchdogReport

/// Runs `watchdogd-symbolicate`, which unwinds and names what a snapshot holds.
///
/// The files and bytes it parses come from a process that may be hostile. So it runs as nobody where the supervisor is
/// root, may gain no privileges, and gets the snapshot, the mapped files, two pipes and nothing else. It is never run
/// with root's rights: where nobody may not use the program or its libraries, there are no symbols, and a note says so.
///
/// Isolation: immutable; its calls block, so they belong on the thread that writes reports.
public struct Symbolicator: Sendable {
    /// The bounds of one run.
    public struct Limits: Sendable, Equatable {
        /// Time on the wall.
        public var budget: Duration = .seconds(5)
        /// Time on CPUs, in whole seconds.
        public var cpuSeconds: UInt64 = 10
        /// Memory of its own in bytes.
        public var memory: UInt64 = 2 << 30
        /// Address space in bytes: files with debug information are large, and mapped.
        public var addressSpace: UInt64 = 16 << 30
        /// Bytes of the answer.
        public var answer = 16 << 20
        /// Bytes kept of what it says on its standard error.
        public var message = 4 << 10
        /// Processes and threads of its user.
        public var processes: UInt64 = 64

        /// The default bounds.
        public init() {}
    }

    static let programName = "watchdogd-symbolicate"

    /// Where the program is; nil when it was not found.
    public let program: String?
    private let limits: Limits
    /// Keeps the program of this release usable after an upgrade or where nobody cannot reach its path.
    private let pinned: OwnedDescriptor?

    /// Creates a symbolicator.
    ///
    /// - Parameters:
    ///   - program: the program's path; nil to look beside the running program, then in `../libexec/watchdogd`.
    ///   - limits: the bounds of each run.
    public init(program: String? = nil, limits: Limits = Limits()) {
        let candidates = program.map { [$0] } ?? Self.candidates
        self.limits = limits
        self.program = candidates.first { access($0, X_OK) == 0 }
        pinned = self.program.flatMap { try? OwnedDescriptor(opening: $0, flags: O_RDONLY) }
    }

    private static var candidates: [String] {
        guard let running = SymbolicLink.target("/proc/self/exe"), let slash = running.lastIndex(of: "/") else {
            return []
        }
        let directory = running[..<slash]
        return ["\(directory)/\(programName)", "\(directory)/../libexec/watchdogd/\(programName)"]
    }

    /// Names a snapshot's frames; when that fails, the result has what the snapshot alone says and a note why.
    public func symbolicate(_ snapshot: Snapshot) -> CapturedProcess {
        do throws(SymbolicationError) {
            return try run(snapshot)
        } catch {
            return .withoutSymbols(from: snapshot, because: error.description)
        }
    }

    /// Runs the program once.
    public func run(_ snapshot: Snapshot) throws(SymbolicationError) -> CapturedProcess {
        // The offset is shared with the descriptor that earlier runs got.
        lseek(snapshot.memory, 0, SEEK_SET)
        let result = try run(budgeted([]), [snapshot.memory] + snapshot.modules)
        return try withExtendedLifetime(snapshot) { () throws(SymbolicationError) in
            try CapturedProcess(answer: try result.answer(limits), of: snapshot)
        }
    }

    /// Looks up addresses of a stored report.
    ///
    /// - Parameters:
    ///   - request: the addresses.
    ///   - files: for each image of the request a file with its debug data.
    public func names(
        _ request: NamingRequest, files: [OwnedDescriptor]
    ) throws(SymbolicationError) -> NamingAnswer {
        precondition(files.count == request.images.count, "each image has a file")
        guard let json = try? JSONEncoder().encode(request), let file = OwnedDescriptor(sealing: Array(json)) else {
            throw SymbolicationError(.notStarted, "was not started: no room for the request")
        }
        let result = try run(budgeted(["--names"]), [file.number] + files.map(\.number))
        let bytes = try withExtendedLifetime((file, files)) { () throws(SymbolicationError) in
            try result.answer(limits)
        }
        guard let answer = try? JSONDecoder().decode(NamingAnswer.self, from: Data(bytes)) else {
            throw SymbolicationError(.malformedAnswer, "printed what are no names")
        }
        if let fault = answer.fault(as: request) {
            throw SymbolicationError(.malformedAnswer, "printed names with \(fault)")
        }
        return answer
    }

    private func run(
        _ arguments: [String], _ descriptors: [Int32]
    ) throws(SymbolicationError) -> BoundedRun.Result {
        try run(arguments, descriptors, budget: limits.budget) { request in
            request.limits = resourceLimits(descriptors: request.descriptors.count)
        }
    }

    /// Runs the program as nobody where that is possible, with descriptors from 3 on.
    func run(
        _ arguments: [String], _ descriptors: [Int32], budget: Duration, _ configure: (inout SpawnRequest) -> Void
    ) throws(SymbolicationError) -> BoundedRun.Result {
        guard let program else { throw SymbolicationError(.notFound, "was not found") }
        var request = SpawnRequest(
            executable: ByteString(program), arguments: arguments.map { ByteString($0) }, environment: [:])
        request.descriptors = descriptors.enumerated().map { .init($0.element, as: 3 + Int32($0.offset)) }
        request.workingDirectory = "/"
        request.noNewPrivileges = true
        request.fileModeMask = 0o077
        request.credentials = Self.nobody
        request.launchLimit = limits.budget
        configure(&request)
        let run = try BoundedRun(
            budget: budget,
            outputLimit: limits.answer,
            messageLimit: limits.message,
            request: request,
            start: start
        )
        return run.finish()
    }

    /// The program gives up details when its own budget runs out; the rest of ours is for starting and writing.
    private func budgeted(_ arguments: [String]) -> [String] {
        let milliseconds = max(1, (limits.budget * 3 / 5).nanoseconds / 1_000_000)
        return [Self.programName] + arguments + ["--budget", "\(milliseconds)ms"]
    }

    // MARK: Starting

    /// Nobody's rights where the supervisor is root and its user namespace knows nobody; else nil, the supervisor's own.
    static var nobody: Credentials? {
        let nobody: UInt32 = 65534
        guard geteuid() == 0, UserNamespace.knows(user: nobody, group: nobody) else { return nil }
        return Credentials(user: nobody, group: nobody)
    }

    private func resourceLimits(descriptors: Int) -> [ResourceLimit] {
        func limit(_ resource: ResourceLimit.Resource, _ soft: UInt64, hard: UInt64? = nil) -> ResourceLimit {
            // Without privileges a hard limit cannot be raised.
            let most = (try? ResourceLimit.current(resource).hard) ?? soft
            return ResourceLimit(resource, soft: min(soft, most), hard: min(hard ?? soft, most))
        }
        return [
            limit(.addressSpace, limits.addressSpace),
            limit(.data, limits.memory),
            // SIGXCPU at the soft limit says why it ended; SIGKILL at the hard one does not.
            limit(.cpu, limits.cpuSeconds, hard: limits.cpuSeconds + 1),
            limit(.fileSize, 0),
            limit(.core, 0),
            limit(.processes, limits.processes),
            limit(.openFiles, UInt64(descriptors) + 256),
        ]
    }

    /// Works around what stands in nobody's way: directories that only root may enter, and a crowd of other nobodies.
    private func start(_ original: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
        var request = original
        if let pinned, !isAtItsPath(pinned) { use(pinned, &request) }
        for _ in 0..<2 {
            do throws(SpawnError) {
                return try spawn(request)
            } catch {
                switch (error.stage, error.errno) {
                case (.execute, .permissionDenied), (.execute, .noSuchFile):
                    guard let pinned else { throw error }
                    use(pinned, &request)
                case (.execute, .wouldBlock):
                    // RLIMIT_NPROC counts all processes of the user: execve(2).
                    request.limits.removeAll { $0.resource == .processes }
                default:
                    throw error
                }
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
    /// The output of a run that went well.
    fileprivate func answer(_ limits: Symbolicator.Limits) throws(SymbolicationError) -> [UInt8] {
        switch end {
        case .overBudget:
            throw SymbolicationError(.overBudget, "did not end within \(limits.budget)", message: message)
        case .tooMuchOutput:
            throw SymbolicationError(.tooMuchOutput, "wrote more than \(limits.answer) bytes", message: message)
        case .ended(.exited(code: 0)), .ended(.unknown):
            // Unknown when another thread of this process, which reaps orphans, was faster: the answer tells.
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
