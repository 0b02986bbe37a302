// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// Starts a program and returns as soon as its process executes it, or after ``SpawnRequest/launchLimit``.
///
/// Any thread may call this, but a loop that must not wait uses a ``Launcher``. A script without a `#!` line, which the
/// kernel refuses with `ENOEXEC`, is run by `/bin/sh`, as in shells; a file that looks binary is not. Requires Linux
/// 5.9.
///
/// - Throws: ``SpawnError`` with the step that failed. A failed launch leaves no descriptor behind, and no process: one
///   that was created exits, and is reaped on a thread of its own as soon as it has.
public func spawn(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
    try request.validate()
    let deadline = LaunchDeadline(request.launchLimit, from: .now())
    var gone: LauncherProcess?
    for _ in 0..<LaunchAttempt.limit {
        let launcher: LauncherProcess
        do throws(LinuxError) {
            launcher = try LauncherProcess.shared(insteadOf: gone)
        } catch {
            throw SpawnError(stage: .clone, errno: error.errno, operation: "create a process")
        }
        let attempt = try LaunchAttempt(request, isHeld: false)
        switch try attempt.run(through: launcher, until: deadline) {
        case .launched(let process):
            return process
        case .failed(let error, let process):
            process?.reapWhenItExits()
            throw error
        case .lost(let process):
            process?.reapWhenItExits()
            gone = launcher
        }
    }
    throw .launcherDied
}

extension LaunchAttempt {
    /// How many launchers may die of the same request before it fails.
    static let limit = 3

    fileprivate func run(
        through launcher: LauncherProcess, until deadline: LaunchDeadline
    ) throws(SpawnError) -> End {
        var isSent = true
        sending: while true {
            switch try send(to: launcher) {
            case .sent: break sending
            case .closed: return .lost(nil)
            case .full:
                guard Instant.now() < deadline.at else {
                    isSent = false
                    break sending
                }
                launcher.waitForRoom(limit: deadline.at - .now())
            }
        }
        var entry = pollfd(fd: status.number, events: 0, revents: 0)
        var deadline = deadline
        repeat {
            let left = max((deadline.at - .now()).nanoseconds, 0)
            // Rounded up: a wait that ends too early would make this loop spin.
            if poll(&entry, 1, Int32(clamping: (left + 999_999) / 1_000_000)) == 1 { return end() }
            _ = processID()
        } while !deadline.isOver(at: .now(), awaitsCPU: isSent && awaitsCPU(of: launcher))
        let (error, process) = giveUp()
        return .failed(error, process)
    }
}

/// A process that has just been started.
public struct SpawnedProcess: Sendable {
    /// The process; owns the pidfd.
    public let process: Pidfd
    /// When the process was created, in clock ticks since boot (`/proc/PID/stat` field 22); nil without `/proc`.
    ///
    /// Together with the process ID, it identifies the process uniquely on this boot.
    public let startTime: UInt64?
    /// Why the process is not in the requested cgroup; nil when it is, or when none was requested.
    public let cgroupRefusal: Errno?
    /// Whether the process was moved to its cgroup because clone3(2) is refused here; moving takes milliseconds.
    public let hasMoved: Bool

    /// Creates a started process from its parts.
    public init(process: Pidfd, startTime: UInt64?, cgroupRefusal: Errno? = nil, hasMoved: Bool = false) {
        self.process = process
        self.startTime = startTime
        self.cgroupRefusal = cgroupRefusal
        self.hasMoved = hasMoved
    }

    /// The process ID.
    public var pid: Int32 { process.pid }
}
