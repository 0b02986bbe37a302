// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The processes that remain when a run is over.
///
/// Without a cgroup, a daemon that has left its session, its parent and its environment cannot be attributed to an app.
/// It is still a child of the subreaper, and if there is only one app, it belongs to that app.
enum Strays {
    /// Kills and reaps all other children, including the launcher, for at most a tenth of a second.
    ///
    /// Isolation: the main thread, which inherits orphans, once nothing else in this process has a child.
    ///
    /// - Parameter sources: processes that ``ProcessSources/end()`` ends, with all that was forked from them.
    static func end(except sources: Set<Int32>) {
        for _ in 0..<100 {
            _ = Subreaper.reapOrphans(except: [])
            var information = siginfo_t()
            // ECHILD: no child remains.
            guard waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return }
            // The id of a child cannot be reused before the child is reaped.
            let strays = children().filter { !sources.contains($0) }
            guard !strays.isEmpty else { return }
            for child in strays { kill(child, SIGKILL) }
            poll(nil, 0, 1)
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
