// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// A terminal as a screen and a keyboard: the alternate screen without echo, restored at the end.
package final class Terminal: Sendable {
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

    private let former: termios
    // SAFETY: Dispatch objects are thread-safe, but their Swift protocols are not marked Sendable.
    private nonisolated(unsafe) let keyboard: any DispatchSourceRead
    private nonisolated(unsafe) let interrupt: any DispatchSourceSignal

    /// Nil unless standard input and output are a terminal.
    ///
    /// - Parameter onKey: Called for each key, on the keyboard's own queue.
    package init?(onKey: @escaping @Sendable (Character) -> Void) {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            return nil
        }
        former = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        let queue = DispatchQueue(label: "keyboard")
        // ^C is handled as the key to quit, because the app must restore the terminal before it exits.
        signal(SIGINT, SIG_IGN)
        interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: queue)
        interrupt.setEventHandler { onKey("q") }
        interrupt.activate()
        keyboard = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        keyboard.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            for character in String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) { onKey(character) }
        }
        keyboard.activate()
        Self.write(Self.enter)
    }

    package func show(_ lines: [String]) {
        Self.write("\u{1B}[H" + lines.map { "\($0)\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
    }

    package func restore() {
        Self.write(Self.leave)
        var settings = former
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    private static func write(_ text: String) {
        Glibc.write(STDOUT_FILENO, text, text.utf8.count)
    }
}
