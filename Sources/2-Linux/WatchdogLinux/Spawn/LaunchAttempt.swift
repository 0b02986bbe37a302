// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// One request on its way through a launcher, from the file that describes it to the execution of the program.
///
/// Isolation: belongs to one thread.
final class LaunchAttempt {
    /// How an attempt ended.
    enum End {
        /// The program runs.
        case launched(SpawnedProcess)
        /// A step failed. If a process was created, it is exiting and must be reaped.
        case failed(SpawnError, Pidfd?)
        /// The launcher died before it created a process, or that was killed before its first step. No program was executed
        /// and none will be, so the attempt may be repeated; a process that was created ends and must be reaped.
        case lost(Pidfd?)
    }

    /// The other end hangs up when the program is executed or its process has exited.
    let status: OwnedDescriptor
    private let request: SpawnRequest
    private let file: OwnedDescriptor
    /// Whether ``file`` is a pipe, because `RLIMIT_FSIZE` allows no file of that size: setrlimit(2).
    private let isPipe: Bool
    private let length: Int
    /// The end of ``status`` for the launcher and the child.
    private var remote: OwnedDescriptor?
    private var answer: wd_launcher_answer?
    /// The process that the answer named, since before its first step.
    private var pidfd: OwnedDescriptor?
    /// Whether the process waits for ``confirm()``, and for ``release()`` if it sends a pidfd.
    private var isHeld: Bool

    /// Writes the file; nothing is started yet.
    ///
    /// - Parameter isHeld: whether the process waits, before it executes the program, for ``confirm()`` and ``release()``.
    init(_ request: SpawnRequest, isHeld: Bool) throws(SpawnError) {
        self.request = request
        self.isHeld = isHeld
        let contents = LaunchFile(request).bytes
        length = contents.count
        do throws(LinuxError) {
            var ends: [Int32] = [-1, -1]
            _ = try check("create a pair of sockets") { wd_launcher_status_pair(&ends) }
            (status, remote) = (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
            let memory = try Self.memory()
            let written = memory.map { write($0.number, contents, contents.count) } ?? 0
            isPipe = written >= 0 ? written < length : Errno.current.rawValue == EFBIG
            if let memory, !isPipe {
                guard written == length else { throw LinuxError("write a file in memory", .current) }
                file = memory
            } else {
                file = OwnedDescriptor(taking: try check("fill a pipe") { wd_launcher_pipe(contents, contents.count) })
            }
        } catch {
            throw SpawnError(stage: .clone, errno: error.errno, operation: "create a process")
        }
    }

    /// A file in memory; nil if the kernel or a seccomp filter refuses to make one.
    private static func memory() throws(LinuxError) -> OwnedDescriptor? {
        do throws(LinuxError) {
            return OwnedDescriptor(taking: try check("create a file in memory") { wd_launcher_file() })
        } catch  where [ENOSYS, EPERM].contains(error.errno.rawValue) {
            return nil
        }
    }

    /// Sends the request; from then on, its descriptors belong to the launcher.
    ///
    /// Never waits.
    func send(to launcher: LauncherProcess) throws(SpawnError) -> LauncherProcess.Sending {
        guard let remote else { return .sent }
        let message = wd_launcher_request(
            length: UInt64(length), cgroup: request.cgroup == nil ? -1 : 0, without_clone3: request.withoutClone3,
            in_pipe: isPipe, held: isHeld)
        do throws(LinuxError) {
            let sending = try launcher.send(message, [remote.number, file.number] + request.passedDescriptors)
            if sending == .sent { self.remote = nil }
            return sending
        } catch {
            throw request.closedDescriptor
                ?? SpawnError(stage: .clone, errno: error.errno, operation: "create a process")
        }
    }

    /// The process ID, as soon as the launcher has created the process.
    ///
    /// The ID cannot be reused before the process is reaped.
    func processID() -> Int32? {
        if answer == nil {
            var taken = wd_launcher_answer()
            var pidfd: Int32 = -1
            if wd_launcher_take_answer(status.number, &taken, &pidfd) == 1 { answer = taken }
            if pidfd >= 0 { self.pidfd = OwnedDescriptor(taking: pidfd) }
        }
        return knownProcessID
    }

    /// The process ID, if the answer has already been read.
    var knownProcessID: Int32? { answer.flatMap { $0.pid > 0 ? $0.pid : nil } }

    /// Whether nothing but a CPU is missing: the process, or the launcher that has yet to create it, could run.
    func awaitsCPU(of launcher: LauncherProcess?) -> Bool {
        guard let pid = knownProcessID ?? launcher?.process.pid else { return false }
        return ProcessStat.read(pid)?.state == .running
    }

    /// Whether the request has been answered.
    var isAnswered: Bool {
        processID() != nil || answer != nil
    }

    /// The process until it is released; nil otherwise.
    var held: HeldProcess? {
        guard isHeld, let pidfd, let pid = knownProcessID else { return nil }
        return try? HeldProcess(pid: pid, pidfd: pidfd, execution: OwnedDescriptor(duplicating: status.number))
    }

    /// Lets the process wait only for its release from now on, and execute the program if this supervisor ends.
    func confirm() {
        if isHeld { wd_launcher_confirm(status.number) }
    }

    /// Lets the process execute the program, if it waits for that.
    func release() {
        guard isHeld, pidfd != nil else { return }
        isHeld = false
        wd_launcher_release(status.number)
    }

    /// The outcome that the child has left; nil when it cannot be read.
    private var outcome: wd_spawn_outcome? {
        guard isPipe else { return LaunchFile.outcome(in: file) }
        var outcome = LaunchFile.initialOutcome
        wd_launcher_take_outcome(status.number, &outcome)
        return outcome
    }

    /// The outcome of the launch, once the other end of ``status`` has hung up.
    func end() -> End {
        let pid = processID()
        guard let answer else { return .lost(nil) }
        guard let pid else {
            return .failed(
                SpawnError(stage: .clone, errno: Errno(rawValue: answer.error), operation: "create a process"), nil)
        }
        let process: Pidfd
        do throws(LinuxError) {
            if let pidfd { process = Pidfd(pid: pid, descriptor: pidfd) } else { process = try Pidfd(opening: pid) }
        } catch {
            _ = Subreaper.killChild(pid)
            return .failed(SpawnError(stage: .clone, errno: error.errno, operation: "hold the process"), nil)
        }
        guard let outcome else {
            try? process.send(SIGKILL)
            return .failed(SpawnError(stage: .clone, errno: .current, operation: "learn how the launch went"), process)
        }
        guard outcome.error == 0 else { return .failed(request.error(outcome), process) }
        // The process was killed between its answer and its first step.
        guard outcome.stage != WD_SPAWN_STAGE_CLONE else { return .lost(process) }
        return .launched(
            SpawnedProcess(
                process: process,
                startTime: ProcessStat.read(pid)?.startTime,
                cgroupRefusal: outcome.cgroup_error == 0 ? nil : Errno(rawValue: outcome.cgroup_error),
                hasMoved: outcome.moved
            )
        )
    }

    /// Gives up the launch: kills the process, if there is one; otherwise the request will not start any.
    ///
    /// - Returns: the error of a launch that timed out, and the process, which must be reaped.
    func giveUp() -> (error: SpawnError, process: Pidfd?) {
        remote = nil
        // From now on nobody can answer, and the child runs only after its answer: unix(7), shutdown(2).
        shutdown(status.number, Int32(SHUT_RD))
        guard let pid = processID() else {
            return (SpawnError(stage: .clone, errno: .timedOut, operation: "create a process"), nil)
        }
        let process = Subreaper.killChild(pid)
        var outcome = outcome ?? wd_spawn_outcome()
        outcome.error = ETIMEDOUT
        return (request.error(outcome), process)
    }
}

/// A process that has been created and executes its program only when it is released.
public struct HeldProcess: Sendable {
    /// The process.
    public let pid: Int32
    /// Its pidfd.
    public let pidfd: OwnedDescriptor
    /// Hangs up (`POLLHUP`) when the process executes its program, or ends.
    public let execution: OwnedDescriptor
}

extension SpawnRequest {
    func validate() throws(SpawnError) {
        let invalid = Errno.invalidArgument
        guard !arguments.isEmpty else {
            throw SpawnError(stage: .execute, errno: invalid, operation: "execute \(executable) without arguments")
        }
        for passed in descriptors where passed.source < 0 || passed.target < 0 {
            throw SpawnError(stage: .descriptor, errno: invalid, operation: passed.operation)
        }
        let targets = descriptors.map(\.target)
        guard Set(targets).count == targets.count else {
            throw SpawnError(stage: .descriptor, errno: invalid, operation: "pass two descriptors as the same number")
        }
    }

    /// The error for the first passed descriptor that is not open.
    fileprivate var closedDescriptor: SpawnError? {
        descriptors.first { fcntl($0.source, F_GETFD) < 0 }.map { passed in
            SpawnError(stage: .descriptor, errno: .current, operation: passed.operation)
        }
    }

    fileprivate func error(_ outcome: wd_spawn_outcome) -> SpawnError {
        let stage = SpawnError.Stage(rawValue: Int32(outcome.stage.rawValue)) ?? .clone
        var request = self
        if stage == .execute, outcome.index == 1 {
            request.executable = "/bin/sh"
            request.arguments = ["/bin/sh", executable] + arguments.dropFirst()
        }
        let error = SpawnError(
            stage: stage,
            errno: Errno(rawValue: outcome.error),
            operation: request.operation(of: stage, index: Int(outcome.index))
        )
        return stage == .execute ? error.explained(for: request, head: outcome.firstLine) : error
    }

    private func operation(of stage: SpawnError.Stage, index: Int) -> String {
        switch stage {
        case .clone: "create a process"
        case .cgroup: "move to the cgroup"
        case .session:
            if case .newSession = session { "create a session" } else { "create a process group" }
        case .foreground: "become the terminal's foreground process group"
        case .descriptor: descriptors.indices.contains(index) ? descriptors[index].operation : "place a descriptor"
        case .close: "close the launcher's descriptors"
        case .limit: "set the limit on " + (limits.indices.contains(index) ? limits[index].resource.name : "a resource")
        case .scheduling: "leave the real-time scheduling policy"
        case .niceness: "set the nice value to \(niceness ?? 0)"
        case .oomScore: "set the out-of-memory score adjustment to \(oomScoreAdjustment ?? 0)"
        case .noNewPrivileges: "set no_new_privs"
        case .groups: "set the supplementary groups"
        case .group: "change to group \(credentials?.group ?? 0)"
        case .user: "change to user \(credentials?.user ?? 0)"
        case .capabilities: "give up all capabilities"
        case .directory: "change directory to \(workingDirectory?.description ?? ".")"
        case .execute: "execute \(executable)"
        }
    }
}

extension SpawnRequest.PassedDescriptor {
    var operation: String { "pass descriptor \(source) as \(target)" }
}

extension wd_spawn_outcome {
    /// The beginning of the file that the kernel refused; nil when the program's user may not read it.
    fileprivate var firstLine: [UInt8]? {
        guard head_length >= 0 else { return nil }
        let length = min(Int(head_length), WD_SPAWN_HEAD_BYTES)
        return withUnsafeBytes(of: head) { Array($0.prefix(length).prefix { $0 != UInt8(ascii: "\n") }) }
    }
}
