// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `watchdogd record`: records, or shows what was recorded.
///
/// Recording is a command of its own, because the parser would let a parent take the options of `show`.
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record one launch of an unmodified program, and show where its time went.",
        usage: "watchdogd record [options] -- PROGRAM [ARGS...]",
        discussion: """
            A recording written with --output is shown again by 'watchdogd record show FILE', on this machine or another. \
            Options: 'watchdogd help record launch'. How to read one: docs/launches.md.
            """,
        subcommands: [RecordLaunchCommand.self, RecordShowCommand.self],
        defaultSubcommand: RecordLaunchCommand.self
    )
}
