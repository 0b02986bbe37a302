// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Closes descriptors off the loop.
///
/// The last close(2) of a TCP socket with `SO_LINGER` waits for the peer, and every close of a file calls its file
/// system, which may be a FUSE daemon: whoever passed the descriptor decides how long that takes. Each lane has one
/// thread, so that one sender's descriptors hold up no other sender's.
public enum Closer {
    /// The maximum number of descriptors waiting in one lane, not counting those of one more message.
    private static let laneLimit = 1_024
    /// The part of all descriptors that may wait in one lane: libdispatch ends a process that has none left.
    private static let laneShare: UInt64 = 8
    private static let threads = BlockingThreads(BlockingThreads.Limits(threads: 64, threadsPerLane: 1))
    /// The number of descriptors that are not closed yet, by lane.
    private static let open = Locked<[Int32: Int]>([:])

    /// False while a lane is stuck; receivers that use the lane then stop receiving descriptors.
    public static func hasRoom(lane: Int32) -> Bool {
        let share = ((try? ResourceLimit.current(.openFiles).soft) ?? 1_024) / laneShare
        return open.withLock { $0[lane, default: 0] < min(laneLimit, Int(clamping: share)) }
    }

    /// Whether all descriptors have been closed.
    static var isIdle: Bool { open.withLock { $0.isEmpty } }

    /// Closes descriptors soon.
    ///
    /// - Parameters:
    ///   - numbers: descriptors that nobody else closes.
    ///   - lane: groups descriptors by origin, such as the socket that they came through.
    static func close(_ numbers: [Int32], lane: Int32) {
        guard !numbers.isEmpty else { return }
        open.withLock { $0[lane, default: 0] += numbers.count }
        threads.run(in: Int(lane), isRefusable: false) {
            for number in numbers {
                Glibc.close(number)
                open.withLock { open in
                    let left = open[lane, default: 1] - 1
                    open[lane] = left == 0 ? nil : left
                }
            }
        }
    }
}
