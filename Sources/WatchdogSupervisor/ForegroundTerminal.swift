// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The terminal on standard input, when this process is in its foreground and can lend it to the program.
///
/// Isolation: the loop's thread.
struct ForegroundTerminal {
    private let terminal: Terminal
    private let settings: termios

    /// Nil when standard input is no terminal, or another process group has it.
    init?() {
        var settings = termios()
        guard let terminal = Terminal(STDIN_FILENO), terminal.isForeground, tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        self.terminal = terminal
        self.settings = settings
    }

    /// The terminal's descriptor.
    var descriptor: Int32 { terminal.descriptor }

    /// Whether this process group has the terminal.
    var isOurs: Bool { terminal.isForeground }

    /// Gives the terminal to a process group.
    func give(to processGroup: Int32) {
        try? terminal.setForeground(group: processGroup)
    }

    /// Takes the terminal back, and undoes what the program has done to its settings.
    func reclaim() {
        try? terminal.takeForeground()
        var settings = settings
        tcsetattr(descriptor, TCSADRAIN, &settings)
    }
}
