// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The command line of BackgroundSaver.
struct Options: Sendable {
    /// The app's behavior in the background.
    enum Behaviour: String, Sendable {
        /// Saves and ends its background task in time.
        case finish
        /// Saves endlessly, but stops and ends its task when the time is over.
        case expire
        /// Saves endlessly, and ignores the end of its time.
        case overrun
        /// Finishes at once and forgets to end its task.
        case leak
        /// Begins a task for every page, which exceeds the limit of tasks.
        case hoard
        /// Begins no task, but holds a lock on its database.
        case lock
    }

    static let help = """
        usage: BackgroundSaver [--finish|--expire|--overrun|--leak|--hoard|--lock] [options]

        An app with a library to save. Going to the background, it begins a background task for it.

        --finish          save and end the task (this is what it does without an option)
        --expire          go on saving until the time is over, then end the task
        --overrun         go on saving although the time is over
        --leak            be done at once, but never end the task
        --hoard           begin 1100 tasks
        --lock            begin no task, and go to the background with a lock on the database
        --seconds N       how long saving takes with --finish (2)
        --database FILE   the database (a new file in $TMPDIR or /tmp, removed at the end)
        --help            show this help
        """

    var behaviour = Behaviour.finish
    var seconds = 2.0
    var database: String?

    /// Reads the command line, or exits.
    init() {
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--help":
                print(Self.help)
                exit(0)
            case "--seconds":
                guard let value = arguments.popFirst().flatMap(Double.init), (0...1e6).contains(value) else {
                    fail("--seconds needs a number of seconds")
                }
                seconds = value
            case "--database":
                guard let value = arguments.popFirst(), !value.isEmpty else { fail("--database needs a file") }
                database = value
            default:
                guard argument.hasPrefix("--"), let value = Behaviour(rawValue: String(argument.dropFirst(2))) else {
                    fail("unknown argument '\(argument)'")
                }
                behaviour = value
            }
        }
    }
}

func fail(_ problem: String) -> Never {
    let line = "BackgroundSaver: \(problem) (try --help)\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(64)
}

/// Prints a line and flushes it, because standard output may be a pipe.
func say(_ text: String) {
    print("BackgroundSaver: \(text)")
    fflush(nil)
}
