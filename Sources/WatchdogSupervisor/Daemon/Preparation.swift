// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// The commands that run before an app, one after the other: `ExecStartPre=`.
///
/// Isolation: the loop's thread.
final class Preparation {
    private let commands: [Command]
    private var next = 0
    private unowned let kernel: LinuxKernel
    private let finish: (String?) -> Void

    /// - Parameter finish: called once, with the reason when a command has failed; not after ``cancel()``.
    init(_ commands: [Command], of kernel: LinuxKernel, finish: @escaping (String?) -> Void) {
        self.commands = commands
        self.kernel = kernel
        self.finish = finish
    }

    /// Runs the first command, and each further one when the one before has succeeded.
    func begin() {
        guard next < commands.count else { return finish(nil) }
        let command = commands[next]
        next += 1
        do {
            let request = try kernel.configuration.request(for: command)
            let allowance = kernel.configuration.spec.allowances.launch
            try kernel.run(request, for: allowance) { [weak self] status in
                let words = status?.words ?? "did not end within \(allowance.brief), and was killed"
                self?.ended(command, words, isSuccess: status == .exited(code: 0))
            }
        } catch {
            finish("\(place): \(error)")
        }
    }

    /// Ends the command that runs.
    func cancel() {
        next = commands.count
        kernel.cancelCommand()
    }

    private func ended(_ command: Command, _ words: String, isSuccess: Bool) {
        guard isSuccess || command.ignoresFailure else { return finish("\(place): \(command.program) \(words)") }
        begin()
    }

    /// Which command it is, where there are several.
    private var place: String {
        commands.count > 1 ? "ExecStartPre (\(next) of \(commands.count))" : "ExecStartPre"
    }
}
