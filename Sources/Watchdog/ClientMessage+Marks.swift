// SPDX-License-Identifier: Apache-2.0

import WatchdogWire

extension ClientMessage {
    /// The maximum number of queued signposts; further ones are counted and dropped.
    static let signpostLimit = 2048

    mutating func begin(_ task: BackgroundTask) {
        tasksBegun.append(task)
    }

    /// Reports the end of a task; if its beginning is still queued, both are dropped.
    mutating func endTask(_ id: UInt64) {
        if let index = tasksBegun.lastIndex(where: { $0.id == id }) {
            tasksBegun.remove(at: index)
        } else {
            tasksEnded.append(id)
        }
    }

    mutating func add(_ signpost: Signpost) {
        if signposts.count < Self.signpostLimit {
            signposts.append(signpost)
        } else {
            signpostsLost = (signpostsLost ?? 0) + 1
        }
    }

    /// Removes what only a channel can carry.
    mutating func removeMarks() {
        (stateDone, eventDone, isFirstFrame, isUseful) = (nil, nil, false, false)
        (tasksBegun, tasksEnded, launchTasksBegun, launchTasksEnded) = ([], [], [], [])
        (eventsLost, signposts, signpostsLost) = ([], [], nil)
    }
}
