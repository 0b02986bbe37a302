// SPDX-License-Identifier: Apache-2.0

import CLinux
public import WatchdogBase

/// Many descriptors that a loop serves together, so that one wake-up serves all that are readable by then.
///
/// If they become readable less often than once per interval, each is served immediately. Otherwise all are served when
/// the interval ends: a thousand programs that report every second wake the loop fifty times, not a thousand. Without an
/// interval, nothing waits.
///
/// A loop asks the kernel before each event which descriptors are readable, and the kernel looks at each of them: a
/// thousand readable ones with sources of their own are looked at half a million times.
///
/// Isolation: belongs to its loop's thread.
public final class SharedSource {
    /// One descriptor; it stays open and is served until ``cancel()`` or until its last reference is released.
    public final class Member {
        fileprivate let descriptor: OwnedDescriptor
        fileprivate let handler: () -> Void
        /// Nil without a limit.
        private let pacing: Pacing?
        private weak var source: SharedSource?
        private let token: UInt64
        private var isPaused: Bool

        fileprivate init(
            _ descriptor: OwnedDescriptor, of source: SharedSource, token: UInt64, pace: TokenBucket?, isPaused: Bool,
            handler: @escaping () -> Void
        ) {
            self.descriptor = descriptor
            self.handler = handler
            pacing = pace.map { Pacing($0) }
            self.source = source
            self.token = token
            self.isPaused = isPaused
        }

        deinit { cancel() }

        /// Stops calling the handler until told otherwise.
        public func pause(_ isPaused: Bool) {
            guard isPaused != self.isPaused else { return }
            self.isPaused = isPaused
            watch()
        }

        /// Leaves the loop; the handler will not be called again.
        public func cancel() {
            source?.remove(descriptor, token)
            source = nil
        }

        /// Counts a call.
        ///
        /// A member that has exhausted its pace waits until all of it is there again: a flood costs the loop one wake-up
        /// for that many calls.
        ///
        /// - Returns: when it may be called again; nil if it may be now.
        fileprivate func count(at now: Instant) -> Instant? {
            guard let end = pacing?.count(at: now) else { return nil }
            watch()
            return end
        }

        /// - Returns: when it may be called again; nil if it may be now.
        fileprivate func release(at now: Instant) -> Instant? {
            if let end = pacing?.heldUntil, now < end { return end }
            pacing?.heldUntil = nil
            watch()
            return nil
        }

        private func watch() { source?.watch(descriptor, token, !isPaused && pacing?.heldUntil == nil) }
    }

    /// How often a member with a limit has been called; most have none, and no room for this.
    private final class Pacing {
        private var bucket: TokenBucket
        /// Until when the member is not called, because its bucket is empty.
        var heldUntil: Instant?

        init(_ bucket: TokenBucket) { self.bucket = bucket }

        /// Counts a call.
        ///
        /// - Returns: when the member may be called again; nil if it may be now.
        func count(at now: Instant) -> Instant? {
            bucket.take(at: now)
            guard now < bucket.earliest() else { return nil }
            heldUntil = bucket.earliest(for: bucket.capacity)
            return heldUntil
        }
    }

    private struct Reference {
        unowned let member: Member
    }

    /// The maximum number of calls to one handler per turn; the rest of a flood waits for the next turn.
    private static let rounds = 32

    private let loop: EventLoop
    /// After serving this many members, the turn ends, so that other sources get theirs.
    private let turn: Int
    private let interval: Duration
    private let set: OwnedDescriptor
    private var members: [UInt64: Reference] = [:]
    private var lastToken: UInt64 = 0
    private var source: IOSource?
    /// Armed while readable descriptors wait for the interval to end.
    private var timer: Timer?
    private var servedAt: Instant?
    /// Members that have exhausted their pace.
    private var held: [UInt64] = []
    /// Armed while there are some.
    private var heldTimer: Timer?

    /// Creates a source without descriptors.
    ///
    /// - Parameters:
    ///   - interval: the longest time that a readable descriptor waits for others.
    ///   - turn: how many handlers are called before other sources of the loop get their turn.
    ///   - priority: among the sources of the loop.
    public init(
        _ loop: EventLoop, interval: Duration, turn: Int = 256, priority: EventLoop.Priority = .normal
    ) throws(LinuxError) {
        self.loop = loop
        self.interval = interval
        self.turn = turn
        set = OwnedDescriptor(taking: try check("create a set of descriptors") { wd_readiness_create() })
        source = try loop.onReadable(set, priority: priority) { [unowned self] in becameReadable() }
        timer = try loop.timer { [unowned self] _ in intervalEnded() }
        heldTimer = try loop.timer { [unowned self] _ in releaseHeld() }
    }

    /// Calls the handler while the descriptor is readable, until it has read everything.
    ///
    /// - Parameters:
    ///   - pace: how often at most; nil for no limit.
    ///   - isPaused: whether the member begins as if by ``Member/pause(_:)``.
    public func add(
        _ descriptor: OwnedDescriptor, pace: TokenBucket? = nil, isPaused: Bool = false,
        handler: @escaping () -> Void
    ) throws(LinuxError) -> Member {
        lastToken += 1
        let token = lastToken
        _ = try check("watch descriptor \(descriptor.number)") {
            wd_readiness_add(set.number, descriptor.number, token, !isPaused)
        }
        let member = Member(descriptor, of: self, token: token, pace: pace, isPaused: isPaused, handler: handler)
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
        for _ in 0..<Self.rounds where served < turn {
            let ready = poll(atMost: turn - served)
            if ready.isEmpty { break }
            served += ready.count
            for token in ready {
                // A handler may cancel and release any member.
                guard let member = members[token]?.member else { continue }
                withExtendedLifetime(member) {
                    member.handler()
                    hold(member, token)
                }
            }
        }
        return served > 0
    }

    private func hold(_ member: Member, _ token: UInt64) {
        guard let end = member.count(at: loop.now) else { return }
        held.append(token)
        if held.count == 1 { heldTimer?.arm(at: end) }
    }

    private func releaseHeld() {
        let now = loop.now
        var next: Instant?
        held.removeAll { token in
            guard let end = members[token]?.member.release(at: now) else { return true }
            next = min(next ?? end, end)
            return false
        }
        if let next { heldTimer?.arm(at: next) }
    }

    private func poll(atMost limit: Int) -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: min(64, limit)) { buffer, count in
            count = wd_readiness_poll(set.number, buffer.baseAddress, buffer.count)
        }
    }
}
