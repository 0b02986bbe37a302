// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `watchdogd record`: records, or shows what was recorded.
///
/// Recording is a command of its own, because the parser would let a parent take the options of `show`.
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record a launch of an unmodified program and show where the time went.",
        usage: "watchdogd record [options] -- PROGRAM [ARGS...]",
        discussion: """
            'watchdogd record show FILE' shows a recording written with --output, on any machine. \
            Options: 'watchdogd help record launch'. How to read a recording: docs/launches.md.
            """,
        subcommands: [RecordLaunchCommand.self, RecordShowCommand.self],
        defaultSubcommand: RecordLaunchCommand.self
    )
}
