// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Terminates a program and all processes that it has started.
enum Termination {
    /// The time between SIGTERM and SIGKILL.
    private static let allowance = Duration.seconds(2)

    /// Terminates all processes of a tree, even if the program itself has ended before.
    ///
    /// - Parameters:
    ///   - main: The program; nil if it has been reaped.
    ///   - tree: Its processes.
    static func end(_ main: Pidfd?, _ tree: ProcessTree) {
        let processes = Containment.processTree(tree)
        // SIGCONT, too: a stopped process handles SIGTERM only after it continues.
        for signal in [SIGTERM, SIGCONT] {
            processes.send(signal)
            try? main?.send(signal)
        }
        if !wait(for: main, processes, allowance, killing: false) {
            try? main?.send(SIGKILL)
            _ = wait(for: main, processes, .seconds(1), killing: true)
        }
        main?.reapWhenItExits()
    }

    private static func wait(
        for main: Pidfd?, _ processes: Containment, _ limit: Duration, killing: Bool
    ) -> Bool {
        let deadline = Instant.now() + limit
        while true {
            // Repeat: they may have started others in the meantime.
            if killing { try? processes.kill() }
            if main?.hasExited ?? true, processes.isEmpty { return true }
            guard Instant.now() < deadline else { return false }
            var entry = pollfd(fd: main?.descriptor.number ?? -1, events: Int16(POLLIN), revents: 0)
            poll(&entry, main?.hasExited ?? true ? 0 : 1, 10)
        }
    }
}
