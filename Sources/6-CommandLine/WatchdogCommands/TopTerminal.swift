// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogRun

/// The terminal of `watchdogd top`: its alternate screen, without echo and line editing.
final class TopTerminal {
    private let settings: termios
    private let style = OutputOptions.standard
    /// Whether the terminal was closed.
    private(set) var isGone = false

    /// Takes the terminal; nil if standard input and output are not one.
    init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            return nil
        }
        self.settings = settings
        // The terminal is given back first.
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { Glibc.signal(signal) { _ in TopTerminal.isEnding = 1 } }
        Glibc.signal(SIGTSTP, SIG_IGN)
        Glibc.signal(SIGWINCH) { _ in }
        enter()
    }

    /// Set by a signal; sig_atomic_t.
    nonisolated(unsafe) private static var isEnding: sig_atomic_t = 0
    /// How soon a signal that came just before poll(2) is noticed.
    private static let longestWait = Duration.milliseconds(500)

    private func enter() {
        var raw = settings
        // Without ISIG, ^C, ^Z and ^\ are bytes: the screen is never left as it is.
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        // Alternate screen, no cursor: xterm's control sequences.
        write("\u{1b}[?1049h\u{1b}[?25l")
    }

    /// Gives the terminal back as it was.
    func restore() {
        write("\u{1b}[?25h\u{1b}[?1049l")
        var settings = settings
        tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    }

    /// Draws every line, without clearing first, so that nothing flickers.
    func draw(_ screen: inout TopScreen) {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
        let (columns, rows) = isKnown ? (Int(size.ws_col), Int(size.ws_row)) : (80, 24)
        var live = style
        live.time = .current()
        let lines = screen.lines(columns: columns - 1, rows: rows, style: live, isUnicode: Locale.isUnicode)
        write("\u{1b}[H" + lines.prefix(rows).joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J")
    }

    /// The keys pressed until then; returns at the first ones.
    func keys(until instant: Instant) -> [TopKey] {
        let left = min(max(.zero, instant - .now()), Self.longestWait)
        var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let count = poll(&entry, 1, Int32(clamping: left.nanoseconds / 1_000_000 + 1))
        if Self.isEnding != 0 { isGone = true }
        guard count > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 256)
        let length = read(STDIN_FILENO, &buffer, buffer.count)
        guard length > 0 else {
            if length == 0 || errno != EINTR { isGone = true }
            return []
        }
        return TopKey.keys(in: Array(buffer.prefix(length)))
    }

    /// Shows a crash log in a pager, and comes back when that ends.
    func open(_ report: String) {
        restore()
        PagerOption.configure(less: "R")
        let script = "\"$0\" report show -- \"$1\" 2>&1 | \(PagerOption.choice ?? "less")"
        let words = ["/bin/sh", "-c", script, "/proc/\(getpid())/exe", report]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        if posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, environ) == 0 {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
        enter()
    }

    private func write(_ text: String) {
        if (try? writeAll(Array(text.utf8), to: STDOUT_FILENO)) == nil { isGone = true }
    }
}
