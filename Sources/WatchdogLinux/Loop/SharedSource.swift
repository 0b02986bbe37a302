// SPDX-License-Identifier: Apache-2.0

import CLinux
import WatchdogBase

/// Many descriptors that a loop serves together, so that one wake-up serves all that are readable by then.
///
/// If they become readable less often than once per interval, each is served immediately. Otherwise all are served when
/// the interval ends: a thousand programs that report every second wake the loop fifty times, not a thousand.
///
/// Isolation: belongs to its loop's thread.
public final class SharedSource {
    /// One descriptor; it stays open and is served until ``cancel()`` or until its last reference is released.
    public final class Member {
        fileprivate let descriptor: OwnedDescriptor
        fileprivate let handler: () -> Void
        private weak var source: SharedSource?
        private let token: UInt64

        fileprivate init(
            _ descriptor: OwnedDescriptor, of source: SharedSource, token: UInt64, handler: @escaping () -> Void
        ) {
            self.descriptor = descriptor
            self.handler = handler
            self.source = source
            self.token = token
        }

        deinit { cancel() }

        /// Stops calling the handler until told otherwise.
        public func pause(_ isPaused: Bool) { source?.watch(descriptor, token, !isPaused) }

        /// Leaves the loop; the handler will not be called again.
        public func cancel() {
            source?.remove(descriptor, token)
            source = nil
        }
    }

    private struct Reference {
        unowned let member: Member
    }

    /// The maximum number of calls to one handler per turn; the rest of a flood waits for the next turn.
    private static let rounds = 32
    /// After serving this many members, the turn ends, so that other sources get theirs.
    private static let turn = 256

    private let loop: EventLoop
    private let interval: Duration
    private let set: OwnedDescriptor
    private var members: [UInt64: Reference] = [:]
    private var lastToken: UInt64 = 0
    private var source: IOSource?
    /// Armed while readable descriptors wait for the interval to end.
    private var timer: Timer?
    private var servedAt: Instant?

    /// Creates a source without descriptors.
    ///
    /// - Parameter interval: The longest time that a readable descriptor waits for others.
    public init(_ loop: EventLoop, interval: Duration) throws(LinuxError) {
        self.loop = loop
        self.interval = interval
        set = OwnedDescriptor(taking: try check("create a set of descriptors") { wd_readiness_create() })
        source = try loop.onReadable(set) { [unowned self] in becameReadable() }
        timer = try loop.timer { [unowned self] _ in intervalEnded() }
    }

    /// Calls the handler while the descriptor is readable, until it has read everything.
    public func add(_ descriptor: OwnedDescriptor, handler: @escaping () -> Void) throws(LinuxError) -> Member {
        lastToken += 1
        let token = lastToken
        _ = try check("watch descriptor \(descriptor.number)") {
            wd_readiness_add(set.number, descriptor.number, token)
        }
        let member = Member(descriptor, of: self, token: token, handler: handler)
        members[token] = Reference(member: member)
        return member
    }

    private func remove(_ descriptor: OwnedDescriptor, _ token: UInt64) {
        guard members.removeValue(forKey: token) != nil else { return }
        wd_readiness_remove(set.number, descriptor.number)
    }

    private func watch(_ descriptor: OwnedDescriptor, _ token: UInt64, _ watches: Bool) {
        guard members[token] != nil else { return }
        // It fails only for a descriptor that is not in the set.
        _ = wd_readiness_watch(set.number, descriptor.number, token, watches)
    }

    private func becameReadable() {
        let now = loop.now
        let isBusy = servedAt.map { now - $0 < interval } ?? false
        servedAt = now
        serve()
        guard isBusy else { return }
        try? source?.watch(for: [])
        timer?.arm(at: now + interval)
    }

    private func intervalEnded() {
        let now = loop.now
        servedAt = now
        if serve() {
            timer?.arm(at: now + interval)
        } else {
            try? source?.watch(for: .readable)
        }
    }

    /// - Returns: false if no descriptor was readable.
    @discardableResult
    private func serve() -> Bool {
        var served = 0
        for _ in 0..<Self.rounds where served < Self.turn {
            let ready = poll()
            if ready.isEmpty { break }
            served += ready.count
            for token in ready {
                // A handler may cancel and release any member.
                if let member = members[token]?.member { withExtendedLifetime(member) { member.handler() } }
            }
        }
        return served > 0
    }

    private func poll() -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: 64) { buffer, count in
            count = wd_readiness_poll(set.number, buffer.baseAddress, buffer.count)
        }
    }
}
