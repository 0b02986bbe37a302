// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The terminal on standard input, when this process is in its foreground: tcsetpgrp(3).
///
/// Isolation: the loop's thread.
public struct Terminal {
    /// The terminal's descriptor.
    public let descriptor: Int32
    private let settings: termios

    /// The terminal on standard input; nil when that is none, or another process group has it.
    public static var foreground: Terminal? {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp(),
            tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        return Terminal(descriptor: STDIN_FILENO, settings: settings)
    }

    /// Whether this process group has the terminal.
    public var isOurs: Bool { tcgetpgrp(descriptor) == getpgrp() }

    /// Gives the terminal to a process group.
    public func give(to processGroup: Int32) { set(processGroup) }

    /// Takes the terminal back, and undoes what the program has done to its settings.
    public func reclaim() {
        set(getpgrp())
        var settings = settings
        tcsetattr(descriptor, TCSADRAIN, &settings)
    }

    /// From the background the call would stop us with SIGTTOU unless that is blocked.
    private func set(_ processGroup: Int32) {
        SignalSource.blocking(SIGTTOU) { _ = tcsetpgrp(descriptor, processGroup) }
    }
}
