// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux

/// Selects when text is colored.
struct ColorOption: ParsableArguments {
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case auto
        case always
        case never
    }

    @Option(
        help: ArgumentHelp("When to color text: auto (on a terminal, unless NO_COLOR is set), always or never."))
    var color: Choice?

    /// Whether to color what is written to a descriptor.
    func isColored(on descriptor: Int32) -> Bool { choice.isColored(on: descriptor) }

    /// Colors the beginning of watchdogd's own messages on standard error.
    func decorateMessages(withTime showsTime: Bool = false) {
        StandardError.decorate(isColored: isColored(on: STDERR_FILENO), showsTime: showsTime)
    }

    /// The style of what is printed.
    var style: TextStyle { choice.style }

    /// The option of the command counts before one before the command.
    private var choice: Choice { color ?? .leading }
}

extension ColorOption.Choice {
    /// The choice before the command, as in `watchdogd --color never status`.
    static var leading: Self { LeadingOptions.given?.color ?? .auto }

    /// no-color.org; `TERM=dumb` is a terminal without colors.
    func isColored(on descriptor: Int32) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto:
            isatty(descriptor) == 1 && (Environment.inherited["NO_COLOR"] ?? "").isEmpty
                && Environment.inherited["TERM"] != "dumb"
        }
    }

    /// The style of standard output: on a terminal as wide as the terminal, elsewhere of any width.
    var style: TextStyle {
        TextStyle(
            isColored: isColored(on: STDOUT_FILENO),
            columns: isatty(STDOUT_FILENO) == 1 ? TerminalWidth.columns - 1 : nil)
    }
}
