// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

extension ProcessTree {
    /// Kills all processes of the tree until none is left.
    ///
    /// Blocks the thread. Zombies are left to their parents.
    ///
    /// - Returns: nil, or a process that survives SIGKILL until then.
    public func end(until limit: Instant) -> Int32? {
        let containment = Containment.processTree(self)
        while !containment.isEmpty {
            try? containment.kill()
            guard .now() < limit else { return containment.processes().first ?? 0 }
            usleep(1_000)
        }
        return nil
    }
}
