// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogLinux

/// Limits the memory and descriptors that the stacks of waiting reports hold.
struct StackBacklog {
    /// What the stacks of one report hold.
    struct Cost: Equatable {
        var bytes = 0
        var descriptors = 0
    }

    /// An upper bound for the samples of an ordinary process, whose size is unknown before symbolication.
    fileprivate static let samples = Cost(bytes: 4 << 20, descriptors: 64)

    /// The most bytes that they hold.
    private static let byteLimit = 64 << 20

    private let limit: Cost
    private var used = Cost()

    /// Creates an empty backlog.
    ///
    /// - Parameter limit: a quarter of the descriptors and 64 MiB unless a test sets it.
    init(limit: Cost? = nil) {
        let descriptors = (try? ResourceLimit.current(.openFiles)).map { Int(clamping: $0.soft) / 4 } ?? 256
        self.limit = limit ?? Cost(bytes: Self.byteLimit, descriptors: descriptors)
    }

    /// Reserves what one more report needs; false if there is no room for it.
    mutating func admit(_ cost: Cost) -> Bool {
        let hasRoom =
            used.bytes + cost.bytes <= limit.bytes && used.descriptors + cost.descriptors <= limit.descriptors
        // Even the largest process gets its stacks if no other report is waiting.
        guard hasRoom || used == Cost() else { return false }
        used.bytes += cost.bytes
        used.descriptors += cost.descriptors
        return true
    }

    /// Reserves what the stacks of other processes need, and drops those for which there is no room.
    ///
    /// - Returns: the rest, and what it holds.
    mutating func admit(_ others: TreeSnapshot) -> (TreeSnapshot, Cost) {
        var total = Cost()
        var files: Set<Int32> = []
        let kept = others.dropping { snapshot in
            let new = Set(snapshot.modules).subtracting(files)
            let cost = Cost(bytes: snapshot.byteCount, descriptors: new.count + 1)
            guard admit(cost) else { return false }
            files.formUnion(new)
            total.bytes += cost.bytes
            total.descriptors += cost.descriptors
            return true
        }
        return (kept, total)
    }

    mutating func release(_ cost: Cost) {
        used.bytes -= cost.bytes
        used.descriptors -= cost.descriptors
    }
}

extension StackBacklog.Cost {
    init(of capture: CaptureOutcome, _ watch: HangWatch?) {
        self.init()
        if case .taken(let snapshot) = capture { add(snapshot) }
        guard watch != nil else { return }
        bytes += StackBacklog.samples.bytes
        descriptors += StackBacklog.samples.descriptors
    }

    /// Adds what a snapshot holds.
    mutating func add(_ snapshot: Snapshot) {
        bytes += snapshot.byteCount
        descriptors += snapshot.modules.count + 1
    }
}
