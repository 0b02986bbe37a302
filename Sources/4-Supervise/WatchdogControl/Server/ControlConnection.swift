// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// One client: its received bytes, its output, and its calls in progress.
///
/// Isolation: the loop's thread.
final class ControlConnection {
    let id: UInt64
    let peer: ControlPeer
    let mayAct: Bool
    let descriptor: OwnedDescriptor
    /// Whether the kernel refuses descriptors that the client passes (SCM_RIGHTS).
    let refusesDescriptors: Bool
    /// For the duplicate that the closer keeps otherwise.
    var ticket: Closer.Ticket?
    var source: IOSource?

    var input: MessageBuffer
    var output = OutputBuffer()
    /// The calls in progress.
    var calls = CallQueue()
    private let callLimit: Int
    var bucket: TokenBucket
    /// The earliest time of the next call.
    var throttledUntil: Instant?
    /// Whether the connection is queued for a turn.
    var isQueued = false
    /// Whether the connection's turn is running.
    var isBusy = false
    /// The client has closed its sending side.
    private(set) var isInputEnded = false
    /// The client does not read any more: received calls are still executed, but their replies are dropped.
    var isGone = false
    /// The connection is closed once the output is sent.
    var isClosing = false
    /// The time of the client's last complete message.
    var lastSign: Instant
    /// The time since which output is unread; nil without pending output.
    private(set) var unreadSince: Instant?
    private var watched: IOSource.Readiness = .readable

    init(
        id: UInt64, peer: ControlPeer, mayAct: Bool, descriptor: OwnedDescriptor, refusesDescriptors: Bool = false,
        limits: ControlLimits, now: Instant
    ) {
        self.id = id
        self.peer = peer
        self.mayAct = mayAct
        self.descriptor = descriptor
        self.refusesDescriptors = refusesDescriptors
        callLimit = mayAct ? limits.callsInProgress : limits.callsInProgressOfOthers
        input = MessageBuffer(limit: mayAct ? limits.messageBytes : limits.messageBytesOfOthers)
        bucket =
            mayAct
            ? TokenBucket(capacity: limits.callBurst, perSecond: limits.callsPerSecond)
            : TokenBucket(capacity: limits.callBurstOfOthers, perSecond: limits.callsPerSecondOfOthers)
        lastSign = now
    }

    /// Whether another call of the client may start.
    var hasRoom: Bool { calls.count < callLimit && !isClosing }

    /// Reads once, without waiting.
    func receive() {
        let room = min(input.room, 16 << 10)
        guard room > 0, !isInputEnded else { return }
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { buffer in
            let length = SocketMessage.read(
                from: descriptor, into: buffer, refusesDescriptors: refusesDescriptors)
            if let length, length > 0 {
                input.append(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            } else if length == 0 || isGone {
                // After ECONNRESET, no more input can follow.
                isInputEnded = true
            }
        }
    }

    /// Sends as much as possible without waiting.
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

    /// Requests only the readiness events that can be handled now.
    func updateInterest() throws(LinuxError) {
        var wanted: IOSource.Readiness = []
        if !isInputEnded, !isClosing, input.room > 0 { wanted.insert(.readable) }
        if !output.isEmpty { wanted.insert(.writable) }
        guard wanted != watched else { return }
        watched = wanted
        try source?.watch(for: wanted)
    }
}

/// Calls a system call, and repeats it after EINTR.
private func uninterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
