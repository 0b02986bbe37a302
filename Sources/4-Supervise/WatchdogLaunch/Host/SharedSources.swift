// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// The descriptors of all launches in a few sources of the loop: one of its own costs each of them 0.4 KiB.
///
/// Isolation: the loop's thread.
struct SharedSources {
    /// The ends of main processes, before messages, one in a turn of the loop.
    let ends: SharedSource
    /// The channels of all apps, and the notify sockets of those that may send more than signs of life: none waits.
    let prompt: SharedSource
    /// The notify sockets of the others: a message waits for others for at most 20 ms, and counts from when it was sent.
    let messages: SharedSource

    init(_ loop: EventLoop) throws(LinuxError) {
        ends = try SharedSource(loop, interval: .zero, turn: 1, priority: .important)
        prompt = try SharedSource(loop, interval: .zero, turn: 32)
        messages = try SharedSource(loop, interval: .milliseconds(20))
    }
}
