// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// Finds the first listening socket of a program's processes.
final class FirstListen {
    private let sockets: ListeningSockets
    /// Sockets that listened before the launch, or belong to other programs.
    private var foreign: Set<UInt32>

    /// Records the existing listening sockets; create this before the launch.
    init() throws(LinuxError) {
        sockets = try ListeningSockets()
        foreign = try sockets.inodes()
    }

    /// Whether one of the processes listens on a socket now.
    ///
    /// - Parameter processes: Called only if there is a new listening socket.
    func hasHappened(_ processes: () -> [Int32]) -> Bool {
        guard let inodes = try? sockets.inodes() else { return false }
        let new = inodes.subtracting(foreign)
        guard !new.isEmpty else { return false }
        if processes().contains(where: { ListeningSockets.process($0, hasOneOf: new) }) { return true }
        foreign.formUnion(new)
        return false
    }
}
