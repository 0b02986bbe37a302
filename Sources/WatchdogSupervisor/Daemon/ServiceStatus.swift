// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy

/// Tells the service manager what the daemon is doing when that has changed, at most once a second.
///
/// A line that the service manager does not take is said again a second later, if it is still true.
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

    /// - Parameters:
    ///   - loop: where it waits.
    ///   - interval: from one look at the line to the next, at least.
    ///   - line: what the daemon is doing; asked for only when something is to be said.
    ///   - tell: false when nobody took it.
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

    /// The line is said already, in another message.
    func noteSaid(_ line: String) {
        said = line
        lookedAt = loop.now
    }

    /// Something has changed that the line may tell of.
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
