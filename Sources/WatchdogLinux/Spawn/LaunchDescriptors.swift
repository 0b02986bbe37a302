// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// Low descriptor numbers, kept free for what is passed to processes that are being started.
///
/// A child begins with a copy of all descriptors up to the highest that it needs (close_range(2), `CLOSE_RANGE_UNSHARE`), and
/// closes the others: where those that it needs are behind those of ten thousand apps, each launch copies them all.
public final class LaunchDescriptors: Sendable {
    /// What ``spawn(_:)`` uses.
    public static let shared = LaunchDescriptors()

    private static let count = 16
    private let slots = Mutex<[OwnedDescriptor]?>(nil)

    /// Takes the numbers; to be called before many descriptors are open.
    public func reserve() throws(LinuxError) {
        var reserved: [OwnedDescriptor] = []
        for _ in 0..<Self.count { reserved.append(try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)) }
        slots.withLock { slots in slots = slots ?? reserved }
    }

    /// Calls the closure with descriptors that have low numbers, if that is possible at once, or with those that are given.
    ///
    /// The closure returns with its result whether a process may still use them, which it then does for ever.
    func withLow<Result>(
        _ descriptors: [SpawnRequest.PassedDescriptor], _ body: ([SpawnRequest.PassedDescriptor]) -> (Result, Bool)
    ) -> Result {
        let highest = descriptors.map(\.source).max() ?? 0
        guard let taken = take(descriptors.count, below: highest) else { return body(descriptors).0 }
        var low = descriptors
        for (index, slot) in zip(descriptors.indices, taken) {
            guard wd_duplicate_to(descriptors[index].source, slot.number) >= 0 else { continue }
            low[index] = SpawnRequest.PassedDescriptor(slot.number, as: descriptors[index].target)
        }
        let (result, isInUse) = body(low)
        if !isInUse { giveBack(taken) }
        return result
    }

    /// Another thread's launch may take as long as a file server: it is not waited for.
    private func take(_ needed: Int, below highest: Int32) -> [OwnedDescriptor]? {
        let taken = slots.withLockIfAvailable { slots -> [OwnedDescriptor]? in
            guard let free = slots, free.count > needed, needed > 0, let last = free.map(\.number).max(), last < highest
            else { return nil }
            slots = nil
            return free
        }
        return taken ?? nil
    }

    private func giveBack(_ taken: [OwnedDescriptor]) {
        // The last one is never lent: what was passed is to be closed here, and the numbers are to stay taken.
        guard let null = taken.last else { return }
        for slot in taken.dropLast() { _ = wd_duplicate_to(null.number, slot.number) }
        slots.withLock { $0 = taken }
    }
}
