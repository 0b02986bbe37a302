// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Releases the memory that only launches and exits need, when there has been neither for a while.
///
/// Isolation: the loop's thread.
final class IdleMemory {
    private static let delay = Duration.seconds(3)
    /// After fewer launches and exits the memory is kept: it is small, and releasing it would delay the next launch.
    private static let leastChanges = 64

    private let loop: EventLoop
    private var timer: Timer?
    private var changes = 0

    init(_ loop: EventLoop) { self.loop = loop }

    /// Begins with the end of the startup.
    func start() throws(LinuxError) {
        timer = try loop.timer(priority: .last) { [unowned self] _ in
            changes = 0
            ProcessMemory.releaseHeap()
            ProcessMemory.releaseProgram()
        }
        timer?.arm(at: loop.now + Self.delay)
    }

    /// Notes a launch or an exit.
    func changed() {
        changes += 1
        guard timer?.due != nil || changes >= Self.leastChanges else { return }
        timer?.arm(at: loop.now + Self.delay)
    }
}
