// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux

/// The running command of a reload, in a cgroup below the app's: it can be killed alone, and dies with the app.
///
/// Isolation: the loop's thread.
package final class ReloadCommand {
    private let host: Host
    private let appCgroup: Cgroup?
    private let cgroups: CommandCgroups
    private var process: CommandProcess?

    package init(_ host: Host, below cgroup: Cgroup?, _ cgroups: CommandCgroups) {
        self.host = host
        appCgroup = cgroup
        self.cgroups = cgroups
    }

    package var pid: Int32? { process?.pid }

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - keep: saves what the next watchdogd needs to find the command, before and after its start.
    ///   - onEnd: called when it has ended or could not be started, but not after ``cancel()``.
    package func run(
        _ request: SpawnRequest, keep: @escaping (KeptCommand) -> Void,
        onEnd: @escaping (Result<ExitStatus, any Error>) -> Void
    ) throws {
        cgroups.removeSpent()
        let cgroup = appCgroup.flatMap { try? host.system.createCgroup("reload", below: $0) }
        if let cgroup { cgroups.spend(cgroup) }
        // If watchdogd is killed during the start, the next one finds the command in the cgroup.
        keep(KeptCommand(cgroup: cgroup?.path))
        process = try CommandProcess(
            request, in: cgroup, on: host, limit: nil,
            onStart: { [unowned self] in if let process { keep(process.kept) } },
            onEnd: { [unowned self] result in
                process = nil
                onEnd(result)
            })
    }

    /// Resumes a command of the previous watchdogd; returns false if it is gone.
    package func resume(_ kept: KeptCommand?, onEnd: @escaping (Result<ExitStatus, any Error>) -> Void) -> Bool {
        guard let kept else { return false }
        guard let process = kept.find() else {
            kept.end()
            return false
        }
        if let cgroup = kept.cgroup.flatMap({ try? Cgroup(opening: $0) }) { cgroups.spend(cgroup) }
        self.process = try? CommandProcess(process, kept, on: host) { [unowned self] result in
            self.process = nil
            onEnd(result)
        }
        if self.process == nil { kept.end() }
        return self.process != nil
    }

    package func cancel() {
        process?.cancel()
        process = nil
    }

    func reap() { process?.reap() }
}
