// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy

/// One caller: what it has sent, what it is to get, and what is being done for it.
///
/// Isolation: the loop's thread.
final class ControlConnection {
    /// What is being done.
    enum Activity {
        /// The next call is awaited.
        case idle
        /// The handler owes the answer to a call.
        case answering(call: UInt64)
        /// A reply is being written.
        case replying(ReplyWriter)
        /// Events are told until the end.
        case monitoring(EventRing.Cursor)
    }

    let id: UInt64
    let peer: ControlPeer
    let mayAct: Bool
    let descriptor: OwnedDescriptor
    var source: IOSource?

    var input: MessageBuffer
    var output = OutputBuffer()
    var activity = Activity.idle
    var bucket: TokenBucket
    /// Until when further calls have to wait.
    var throttledUntil: Instant?
    /// True while it waits for its turn.
    var isQueued = false
    /// True while its turn lasts.
    var isBusy = false
    /// The caller sends no more.
    private(set) var isInputEnded = false
    /// Nobody reads any more: what the caller has sent is carried out, what it would get is thrown away.
    var isGone = false
    /// It is closed when the output is sent.
    var isClosing = false
    /// When the caller last said something whole.
    var lastSign: Instant
    /// Since when it has read nothing of what waits for it; nil when nothing waits.
    private(set) var unreadSince: Instant?
    private var watched: IOSource.Readiness = .readable

    init(
        id: UInt64, peer: ControlPeer, mayAct: Bool, descriptor: OwnedDescriptor, limits: ControlLimits, now: Instant
    ) {
        self.id = id
        self.peer = peer
        self.mayAct = mayAct
        self.descriptor = descriptor
        input = MessageBuffer(limit: mayAct ? limits.messageBytes : limits.messageBytesOfOthers)
        bucket = TokenBucket(capacity: limits.callBurst, perSecond: limits.callsPerSecond)
        lastSign = now
    }

    var isIdle: Bool {
        if case .idle = activity { true } else { false }
    }

    /// Reads once, without waiting.
    func receive() {
        let room = min(input.room, 16 << 10)
        guard room > 0, !isInputEnded else { return }
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { buffer in
            let length = uninterrupted { recv(descriptor.number, buffer.baseAddress, room, Int32(MSG_DONTWAIT)) }
            if length > 0 {
                input.append(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            } else if length == 0 || errno != EAGAIN || isGone {
                // Of one that is gone nothing more can come.
                isInputEnded = true
            }
        }
    }

    /// Sends what it can, without waiting.
    func flush(at now: Instant) {
        var hasProgress = false
        while !output.isEmpty, !isGone {
            var sent = 0
            output.send { bytes in
                let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
                sent = uninterrupted { send(descriptor.number, bytes.baseAddress, bytes.count, flags) }
                if sent < 0, errno != EAGAIN { isGone = true }
                return max(sent, 0)
            }
            guard sent > 0 else { break }
            hasProgress = true
        }
        if isGone { output.removeAll() }
        if output.isEmpty {
            if unreadSince != nil || hasProgress { lastSign = now }
            unreadSince = nil
        } else if hasProgress || unreadSince == nil {
            unreadSince = now
        }
    }

    /// Watches for what can be made use of.
    func updateInterest() throws(LinuxError) {
        var wanted: IOSource.Readiness = []
        if !isInputEnded, !isClosing, input.room > 0 { wanted.insert(.readable) }
        if !output.isEmpty { wanted.insert(.writable) }
        guard wanted != watched else { return }
        watched = wanted
        try source?.watch(for: wanted)
    }
}

/// The result of a call, made again while a signal interrupts it.
private func uninterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
