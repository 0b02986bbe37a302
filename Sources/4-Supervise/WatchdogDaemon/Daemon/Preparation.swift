// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogConfiguration
package import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// The commands of `ExecStartPre=`, which run before an app, one after the other.
///
/// Isolation: the loop's thread.
package final class Preparation {
    private let commands: [Command]
    private var lookup: BlockingWork.Ticket?
    private var next = 0
    private unowned let shell: LaunchShell
    private let finish: (String?) -> Void

    /// Prepares the commands.
    ///
    /// - Parameter finish: called once, with the reason if a command failed; not after ``cancel()``.
    package init(_ commands: [Command], of shell: LaunchShell, finish: @escaping (String?) -> Void) {
        self.commands = commands
        self.shell = shell
        self.finish = finish
    }

    /// Runs the first command, and each further one after the previous one succeeded.
    package func begin() {
        guard next < commands.count else { return finish(nil) }
        let command = commands[next]
        next += 1
        lookup = LaunchLookup.begin(command, of: shell.configuration, on: shell.host) { [weak self] in
            self?.run(command, $0)
        }
    }

    private func run(_ command: Command, _ request: Result<SpawnRequest, LaunchRefusal>) {
        do {
            let allowance = shell.configuration.spec.allowances.launch
            shell.commands.run(try request.get(), for: allowance) { [weak self] result in
                guard let self else { return }
                switch result {
                case .success(let status):
                    let words = status?.words ?? "did not end within \(TimeSpan.text(allowance)), and was killed"
                    ended(command, words, isSuccess: status == .exited(code: 0))
                case .failure(let error): finish("\(place): \(error)")
                }
            }
        } catch {
            finish("\(place): \(error)")
        }
    }

    /// Kills the running command.
    package func cancel() {
        next = commands.count
        if let lookup { shell.host.work.cancel(lookup) }
        shell.commands.cancel()
    }

    private func ended(_ command: Command, _ words: String, isSuccess: Bool) {
        guard isSuccess || command.ignoresFailure else { return finish("\(place): \(command.program) \(words)") }
        begin()
    }

    /// Which command it is, if there are several.
    private var place: String {
        commands.count > 1 ? "ExecStartPre (\(next) of \(commands.count))" : "ExecStartPre"
    }
}
