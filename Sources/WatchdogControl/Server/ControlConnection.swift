// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// One client: what it has sent, what it is to receive, and what is being done for it.
///
/// Isolation: the loop's thread.
final class ControlConnection {
    let id: UInt64
    let peer: ControlPeer
    let mayAct: Bool
    let descriptor: OwnedDescriptor
    /// Whether the kernel refuses descriptors that the client tries to pass.
    let refusesDescriptors: Bool
    /// For the copy that the closer keeps if it does not.
    var ticket: Closer.Ticket?
    var source: IOSource?

    var input: MessageBuffer
    var output = OutputBuffer()
    /// What the server is doing for the client.
    var calls = CallQueue()
    private let callLimit: Int
    var bucket: TokenBucket
    /// When the next call may be handled.
    var throttledUntil: Instant?
    /// Whether it is waiting for its turn.
    var isQueued = false
    /// Whether it is having its turn.
    var isBusy = false
    /// The client will send no more.
    private(set) var isInputEnded = false
    /// Nobody reads anymore: the calls already received are executed, and their replies are dropped.
    var isGone = false
    /// Close once the output is sent.
    var isClosing = false
    /// When the client last sent a complete message.
    var lastSign: Instant
    /// When the client stopped reading its output; nil if no output is waiting.
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

    /// Whether the client may have another call in progress.
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
                // Nothing more can come from a client that is gone.
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

    /// Watches for readiness that can be used now.
    func updateInterest() throws(LinuxError) {
        var wanted: IOSource.Readiness = []
        if !isInputEnded, !isClosing, input.room > 0 { wanted.insert(.readable) }
        if !output.isEmpty { wanted.insert(.writable) }
        guard wanted != watched else { return }
        watched = wanted
        try source?.watch(for: wanted)
    }
}

/// The result of a call, repeated while signals interrupt it.
private func uninterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
