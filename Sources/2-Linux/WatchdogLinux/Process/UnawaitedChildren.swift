// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase

/// The children that threads wait for: ``Pidfd/reapWhenItExits(waitingAtExit:)``.
///
/// One that outlived this process would be left to the machine's or the container's first process, which may reap nothing.
enum UnawaitedChildren {
    private struct Child {
        let process: Pidfd
        /// How long it may be unable to run before it is left.
        let limit: Duration
    }

    private struct State {
        var children: [Int32: Child] = [:]
        var isEndedAtExit = false
    }

    private static let state = Mutex(State())

    static func add(_ process: Pidfd, _ limit: Duration) {
        state.withLock { state in
            state.children[process.descriptor.number] = Child(process: process, limit: limit)
            guard !state.isEndedAtExit else { return }
            state.isEndedAtExit = true
            atexit { UnawaitedChildren.end() }
        }
    }

    static func remove(_ process: Pidfd) {
        // The descriptor is closed, and may be another child's, only after this.
        state.withLock { _ = $0.children.removeValue(forKey: process.descriptor.number) }
    }

    /// The process IDs of those that were not reaped.
    static var processes: Set<Int32> { state.withLock { Set($0.children.values.map(\.process.pid)) } }

    /// Kills and reaps them all; those that cannot run for as long as each may be are left.
    static func end() {
        let children = state.withLock { Array($0.children.values) }
        for child in children { try? child.process.send(SIGKILL) }
        let began = Instant.now()
        for child in children {
            child.process.reapKilled(whileStuck: max(began + child.limit - .now(), .zero))
        }
    }
}
