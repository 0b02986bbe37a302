// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// Runs the commands of one kind of a launch, one after the other.
///
/// Isolation: the loop's thread.
final class CommandSlot {
    private let host: Host
    private let kind: CommandKind
    private let cgroups: CommandCgroups
    private let emit: (LaunchEvent) -> Void
    private var process: CommandProcess?

    init(_ host: Host, _ kind: CommandKind, _ cgroups: CommandCgroups, emit: @escaping (LaunchEvent) -> Void) {
        self.host = host
        self.kind = kind
        self.cgroups = cgroups
        self.emit = emit
    }

    /// The running command; nil if there is none.
    var pid: Int32? { process?.pid }
    /// The running command, to be examined; nil if there is none.
    var examined: ExaminedProcess? { process?.examined }
    /// What the next watchdogd needs to find it.
    var kept: KeptCommand? { process.flatMap { $0.pid == nil ? nil : $0.kept } }

    /// Runs a command.
    ///
    /// - Parameters:
    ///   - limit: the command is killed after this time; nil leaves that to ``cancel()``.
    ///   - onEnd: receives how it ended, nil if it timed out, or why it could not be started; not called after
    ///     ``cancel()``.
    func run(
        _ request: SpawnRequest, for limit: Duration?, onEnd: @escaping (Result<ExitStatus?, any Error>) -> Void
    ) {
        do {
            process = try CommandProcess(
                request, in: cgroups.cgroup(for: kind), on: host, limit: limit,
                onStart: { [unowned self] in
                    // If the next watchdogd cannot find the command by a cgroup's name, save its id.
                    if cgroups.isEmpty { emit(.stateChanged(isUrgent: false)) }
                },
                onEnd: { [unowned self] result in
                    let hasTimedOut = process?.hasTimedOut == true
                    forget()
                    onEnd(result.map { hasTimedOut ? nil : $0 })
                })
        } catch {
            cgroups.spend(kind)
            onEnd(.failure(error))
        }
    }

    func cancel() {
        process?.cancel()
        forget()
    }

    func reap() { process?.reap() }

    private func forget() {
        if process?.isCgroupSpent == true { cgroups.spend(kind) }
        process = nil
    }
}
