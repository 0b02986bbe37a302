// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogPolicy

/// Starts a program and returns once its process executes it.
///
/// Whatever the size of the supervisor and the number of its descriptors, this takes tens of microseconds. A script
/// without `#!` line, which the kernel refuses with `ENOEXEC`, is run by `/bin/sh`, as shells do; a file that looks
/// binary is not. Needs Linux 5.9.
///
/// - Throws: ``SpawnError`` with the step that failed. Nothing is left behind in that case: no process, no descriptor.
public func spawn(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
    do throws(SpawnError) {
        return try attempt(request)
    } catch {
        guard error.stage == .execute else { throw error }
        guard error.errno == .notAProgram, looksLikeScript(request.executablePath) else {
            throw error.explained(for: request)
        }
        var shell = request
        shell.executable = "/bin/sh"
        shell.arguments = ["/bin/sh", request.executable] + request.arguments.dropFirst()
        do throws(SpawnError) {
            return try attempt(shell)
        } catch {
            throw error.explained(for: shell)
        }
    }
}

private func attempt(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
    try request.validate()
    let result = LaunchDescriptors.shared.withLow(request.descriptors) { descriptors in
        var request = request
        request.descriptors = descriptors
        let arena = SpawnArena()
        var prepared = request.prepare(in: arena)
        var result = wd_spawn_result()
        withExtendedLifetime(request) { wd_spawn(&prepared, &result) }
        if result.abandoned { arena.abandon() }
        return (result, result.abandoned)
    }
    guard result.stage == WD_SPAWN_STAGE_NONE else {
        let stage = SpawnError.Stage(rawValue: Int32(result.stage.rawValue)) ?? .clone
        throw SpawnError(
            stage: stage,
            errno: Errno(rawValue: result.error),
            operation: request.operation(of: stage, index: result.index)
        )
    }
    return SpawnedProcess(
        process: Pidfd(pid: result.pid, descriptor: OwnedDescriptor(taking: result.pidfd)),
        startTime: ProcessStat.read(result.pid)?.startTime,
        cgroupRefusal: result.cgroup_error == 0 ? nil : Errno(rawValue: result.cgroup_error),
        hasMoved: result.moved
    )
}

extension SpawnRequest {
    fileprivate func validate() throws(SpawnError) {
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

    fileprivate func prepare(in arena: SpawnArena) -> wd_spawn_request {
        var prepared = wd_spawn_request()
        prepared.path = UnsafePointer(arena.string(executable))
        prepared.arguments = UnsafePointer(arena.strings(arguments))
        prepareEnvironment(&prepared, in: arena)
        prepared.directory = workingDirectory.flatMap { UnsafePointer(arena.string($0)) }

        prepared.descriptors = arena.array(
            descriptors.map { wd_spawn_descriptor(source: $0.source, target: $0.target, done: false) }
        )
        prepared.descriptor_count = descriptors.count
        prepared.sorted_targets = UnsafePointer(arena.array(descriptors.map(\.target).sorted()))

        prepared.terminal = -1
        switch session {
        case .inherited: prepared.session = WD_SPAWN_SESSION_INHERIT
        case .newSession: prepared.session = WD_SPAWN_SESSION_NEW
        case .newProcessGroup(let terminal):
            prepared.session = WD_SPAWN_SESSION_NEW_GROUP
            prepared.terminal = terminal ?? -1
        }
        prepared.cgroup = cgroup?.number ?? -1

        prepared.limits = UnsafePointer(
            arena.array(limits.map { wd_spawn_limit(resource: $0.resource.rawValue, soft: $0.soft, hard: $0.hard) })
        )
        prepared.limit_count = limits.count
        prepared.has_niceness = niceness != nil
        prepared.niceness = niceness ?? 0
        prepared.file_mode_mask = fileModeMask.map { Int32($0 & 0o777) } ?? -1
        prepared.oom_score_adjustment = oomScoreAdjustment.flatMap { UnsafePointer(arena.string(ByteString("\($0)"))) }
        prepared.no_new_privileges = noNewPrivileges

        prepared.has_credentials = credentials != nil
        prepared.user = credentials?.user ?? 0
        prepared.group = credentials?.group ?? 0
        prepared.groups = UnsafePointer(arena.array(credentials?.supplementaryGroups ?? []))
        prepared.group_count = credentials?.supplementaryGroups.count ?? 0

        prepared.limit_nanoseconds = UInt64(max(launchLimit.nanoseconds, 0))
        prepared.without_clone3 = withoutClone3
        return prepared
    }

    private func prepareEnvironment(_ prepared: inout wd_spawn_request, in arena: SpawnArena) {
        var environment = environment
        // Ten digits: the child overwrites them with its process id and a NUL.
        for name in processIdVariables { environment[name] = "0000000000" }
        let entries = environment.entries
        let strings = arena.strings(entries)
        var texts: [UnsafeMutablePointer<CChar>?] = []
        for name in processIdVariables {
            let prefix = Array(name.utf8) + [UInt8(ascii: "=")]
            guard let index = entries.firstIndex(where: { $0.bytes.starts(with: prefix) }) else { continue }
            texts.append(strings[index].map { $0 + prefix.count })
        }
        prepared.environment = UnsafePointer(strings)
        prepared.pid_texts = UnsafePointer(arena.array(texts))
        prepared.pid_text_count = texts.count
    }

    fileprivate func operation(of stage: SpawnError.Stage, index: Int) -> String {
        switch stage {
        case .clone: "create a process"
        case .cgroup: "move to the cgroup"
        case .signals: "reset the signal dispositions"
        case .session:
            if case .newSession = session { "create a session" } else { "create a process group" }
        case .foreground: "become the terminal's foreground process group"
        case .unshare: "leave the supervisor's descriptor table"
        case .descriptor: descriptors.indices.contains(index) ? descriptors[index].operation : "place a descriptor"
        case .close: "close the supervisor's descriptors"
        case .limit: "set the limit on " + (limits.indices.contains(index) ? limits[index].resource.name : "a resource")
        case .scheduling: "leave the real-time scheduling policy"
        case .niceness: "set the nice value to \(niceness ?? 0)"
        case .oomScore: "set the out-of-memory score adjustment to \(oomScoreAdjustment ?? 0)"
        case .noNewPrivileges: "set no_new_privs"
        case .groups: "set the supplementary groups"
        case .group: "change to group \(credentials?.group ?? 0)"
        case .user: "change to user \(credentials?.user ?? 0)"
        case .directory: "change directory to \(workingDirectory?.description ?? ".")"
        case .execute: "execute \(executable)"
        }
    }

    /// Where the file is from the supervisor's point of view; only for looking at it.
    var executablePath: String {
        guard let directory = workingDirectory, executable.bytes.first != UInt8(ascii: "/") else {
            return executable.description
        }
        return "\(directory)/\(executable)"
    }
}

extension SpawnRequest.PassedDescriptor {
    fileprivate var operation: String { "pass descriptor \(source) as \(target)" }
}
