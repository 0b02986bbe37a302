// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `watchdogd completions`.
struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Print the completions of a shell.",
        discussion: "For one session of bash: source <(watchdogd completions bash)"
    )

    private static let shells: [(name: String, shell: CompletionShell)] = [
        ("bash", .bash), ("zsh", .zsh), ("fish", .fish),
    ]

    @Argument(
        help: ArgumentHelp("The shell: bash, zsh or fish.", valueName: "shell"),
        completion: .list(CompletionsCommand.shells.map(\.name)))
    var shell: String

    func validate() throws {
        guard Self.shells.contains(where: { $0.name == shell }) else {
            throw ValidationError("'\(shell)' is not a shell with completions; use bash, zsh or fish")
        }
    }

    func run() {
        guard let known = Self.shells.first(where: { $0.name == shell }) else { return }
        print(Watchdogd.completionScript(for: known.shell))
    }
}
