// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Makes the end of a run wait for names that its reports lack, for a moment.
///
/// Isolation: the loop's thread.
final class NamesWait {
    private enum State {
        case idle
        case waiting
        case over
    }

    /// How long it waits.
    static let patience = Duration.seconds(10)

    private let host: Host
    private var timer: Timer?
    private var state = State.idle

    /// - Parameter end: called when the time is over.
    init(on host: Host, end: @escaping () -> Void) throws(LinuxError) {
        self.host = host
        timer = try host.timer { [unowned self] _ in
            state = .over
            end()
        }
    }

    /// Whether nothing is left to wait for; the first call begins the wait.
    func isOver() -> Bool {
        guard host.reportWriter.awaitsNames, state != .over else { return true }
        if state == .idle {
            state = .waiting
            host.reportWriter.hurryNames()
            timer?.arm(at: host.loop.now + Self.patience)
        }
        return false
    }
}
