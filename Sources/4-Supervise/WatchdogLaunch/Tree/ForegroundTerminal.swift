// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The terminal on standard input, if this process is in its foreground and can pass it to the program.
///
/// Isolation: the loop's thread.
package struct ForegroundTerminal {
    private let terminal: Terminal
    private let settings: termios

    /// Nil if standard input is not a terminal, or another process group is in its foreground.
    package init?() {
        var settings = termios()
        guard let terminal = Terminal(STDIN_FILENO), terminal.isForeground, tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        self.terminal = terminal
        self.settings = settings
    }

    package var descriptor: Int32 { terminal.descriptor }

    /// Whether this process group is in the foreground.
    var isOurs: Bool { terminal.isForeground }

    /// Puts a process group in the foreground.
    func give(to processGroup: Int32) {
        try? terminal.setForeground(group: processGroup)
    }

    /// Takes the terminal back and restores its settings.
    func reclaim() {
        try? terminal.takeForeground()
        var settings = settings
        tcsetattr(descriptor, TCSADRAIN, &settings)
    }
}
