// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Reports what the daemon is doing to the service manager after a change, at most once a second.
///
/// A line that the service manager does not accept is sent again a second later, if it is still true.
///
/// Isolation: the loop's thread.
final class ServiceStatus {
    private let interval: Duration
    private let loop: EventLoop
    private let line: () -> String
    private let tell: (String) -> Bool
    private var timer: Timer?
    private var isPending = false
    private var said: String?
    private var lookedAt: Instant?

    /// Prepares the reports.
    ///
    /// - Parameters:
    ///   - loop: the loop that times them.
    ///   - interval: the minimum time between them.
    ///   - line: returns what the daemon is doing; called only for a report.
    ///   - tell: sends a line; returns false if nobody accepted it.
    init(
        on loop: EventLoop, every interval: Duration = .seconds(1), line: @escaping () -> String,
        tell: @escaping (String) -> Bool
    ) throws {
        self.loop = loop
        self.interval = interval
        self.line = line
        self.tell = tell
        timer = try loop.timer(priority: .idle) { [unowned self] _ in due() }
    }

    /// Notes that the line was already sent in another message.
    func noteSaid(_ line: String) {
        said = line
        lookedAt = loop.now
    }

    /// Notes a change that may affect the line.
    func changed() {
        guard !isPending else { return }
        isPending = true
        let now = loop.now
        timer?.arm(at: lookedAt.map { max(now, $0 + interval) } ?? now)
    }

    private func due() {
        isPending = false
        lookedAt = loop.now
        let current = line()
        guard current != said else { return }
        guard tell(current) else { return changed() }
        said = current
    }
}
