// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// The commands that run before an app, one after the other: `ExecStartPre=`.
///
/// Isolation: the loop's thread.
final class Preparation {
    private var commands: ArraySlice<Command>
    private unowned let kernel: LinuxKernel
    private let finish: (String?) -> Void

    /// - Parameter finish: called once, with the reason when a command has failed; not after ``cancel()``.
    init(_ commands: [Command], of kernel: LinuxKernel, finish: @escaping (String?) -> Void) {
        self.commands = commands[...]
        self.kernel = kernel
        self.finish = finish
    }

    /// Runs the first command, and each further one when the one before has succeeded.
    func begin() {
        guard let command = commands.popFirst() else { return finish(nil) }
        do {
            let request = try kernel.configuration.request(for: command)
            let allowance = kernel.configuration.spec.allowances.launch
            try kernel.run(request, for: allowance) { [weak self] isSuccess in
                self?.ended(command, isSuccess)
            }
        } catch {
            finish("ExecStartPre: \(error)")
        }
    }

    /// Ends the command that runs.
    func cancel() {
        commands = []
        kernel.probeProcess?.cancel()
    }

    private func ended(_ command: Command, _ isSuccess: Bool) {
        guard isSuccess || command.ignoresFailure else {
            return finish("ExecStartPre: \(command.program) failed")
        }
        begin()
    }
}
