// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Reads keys from the terminal that control the app; the program's standard input is empty.
///
/// Isolation: the loop's thread.
final class Keyboard {
    static let help = """
        keys: f foreground  b background  s suspend  r resume  e event "key"
              i state       q terminate (again: kill)    ? these keys
        """

    private let terminal: OwnedDescriptor
    private let settings: termios
    private let supervisor: Supervisor
    private var source: IOSource?

    /// Takes the terminal, which must have this process in its foreground; otherwise throws ``RunError``.
    init(_ supervisor: Supervisor, on loop: EventLoop) throws {
        self.supervisor = supervisor
        var settings = termios()
        guard let input = Terminal(STDIN_FILENO), input.isForeground, tcgetattr(STDIN_FILENO, &settings) == 0,
            let terminal = try? OwnedDescriptor(opening: "/dev/tty", flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
        else { throw RunError.usage("--keys needs a terminal on standard input, in the foreground") }
        self.terminal = terminal
        self.settings = settings
        // Keep ISIG: watchdogd forwards ^C to the program, and ^Z stops the job.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        source = try loop.onReadable(terminal) { [unowned self] in read() }
        StandardError.mention(Self.help)
    }

    /// Restores the terminal.
    func stop() {
        source?.cancel()
        var settings = settings
        tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(terminal.number, &buffer, buffer.count)
        // The terminal has hung up; SIGHUP follows and ends the run.
        guard count > 0 || errno == EAGAIN || errno == EINTR else {
            source?.cancel()
            return
        }
        for byte in buffer.prefix(max(0, count)) { press(byte) }
    }

    private func press(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "f"): supervisor.request(.foreground)
        case UInt8(ascii: "b"): supervisor.request(.background)
        case UInt8(ascii: "s"): supervisor.request(.suspend)
        case UInt8(ascii: "r"): supervisor.request(.resume)
        case UInt8(ascii: "e"): supervisor.request(.event(kind: "key", payload: ""))
        case UInt8(ascii: "q"): supervisor.requestTermination()
        case UInt8(ascii: "i"): StandardError.mention(supervisor.machine.lifecycleState.rawValue)
        case UInt8(ascii: "?"), UInt8(ascii: "h"): StandardError.mention(Self.help)
        default: break
        }
    }
}
