// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// What is left of a run's processes when the run is over.
///
/// Without a cgroup, a daemon that has left its session, its parent and its environment behind belongs to no app that one
/// could tell. It still is a child of the subreaper, and where there is one app only, it is that app's.
enum Strays {
    /// Kills and reaps every child, until there is none or a tenth of a second is over.
    ///
    /// Isolation: the main thread, to which orphans go, when nothing else of this process has a child left.
    static func end() {
        for _ in 0..<50 {
            _ = Subreaper.reapOrphans(except: [])
            var information = siginfo_t()
            // ECHILD: none is left.
            guard waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return }
            // The ids of children cannot come to mean other processes before they are reaped.
            for child in children() { kill(child, SIGKILL) }
            poll(nil, 0, 2)
        }
    }

    private static func children() -> [Int32] {
        guard let file = try? OwnedDescriptor(opening: "/proc/self/task/\(getpid())/children", flags: O_RDONLY) else {
            return []
        }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = max(0, read(file.number, &buffer, buffer.count))
        return buffer.prefix(count).split(separator: UInt8(ascii: " ")).compactMap {
            Int32(String(decoding: $0, as: UTF8.self))
        }
    }
}
