// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogLaunch

/// A question before something is changed.
enum Question {
    /// Asks on the terminal; returns only after a yes.
    ///
    /// - Parameters:
    ///   - question: without the answers.
    ///   - otherwise: what is true after a no, such as "nothing was written".
    static func ask(_ question: String, otherwise: String) throws {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            StandardError.say("\(otherwise): no terminal to ask on; use --yes to skip the question")
            throw ExitCode(64)
        }
        "\(question.singleLine()) [y/N] ".withCString { text in _ = Glibc.write(STDERR_FILENO, text, strlen(text)) }
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            StandardError.say(otherwise)
            throw ExitCode(1)
        }
    }
}
