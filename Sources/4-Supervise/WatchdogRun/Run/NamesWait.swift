// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux

/// Delays the end of a run briefly, for symbol names that its reports still lack.
///
/// Isolation: the loop's thread.
final class NamesWait {
    private enum State {
        case idle
        case waiting
        case over
    }

    /// The maximum delay.
    static let patience = Duration.seconds(10)

    private let host: Host
    private var timer: Timer?
    private var state = State.idle

    /// - Parameter end: called when the delay is over.
    init(on host: Host, end: @escaping () -> Void) throws(LinuxError) {
        self.host = host
        timer = try host.timer { [unowned self] _ in
            state = .over
            end()
        }
    }

    /// Whether the wait is over or unnecessary; the first call starts it.
    func isOver() -> Bool {
        guard host.reportWriter.awaitsNames else { return true }
        if state == .over { return host.reportWriter.closeNames() }
        if state == .idle {
            state = .waiting
            host.reportWriter.hurryNames()
            timer?.arm(at: host.loop.now + Self.patience)
        }
        return false
    }
}
