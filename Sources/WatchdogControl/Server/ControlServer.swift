// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
public import WatchdogLinux
import WatchdogPolicy

/// Serves `org.watchdogd.Supervisor` to whoever connects to a socket.
///
/// Whatever callers do, the loop goes on: nothing here waits, no turn is longer than it takes to read one call or to encode
/// a few values, and turns come after everything of more importance, deadlines included. What a caller may cost is in
/// ``ControlLimits``.
///
/// Isolation: the loop's thread.
public final class ControlServer {
    /// Behind deadlines: being asked is less urgent than what a watchdog is for.
    public static let defaultPriority = EventLoop.Priority(rawValue: EventLoop.Priority.idle.rawValue + 100)

    /// The rules and limits.
    public let access: ControlAccess
    /// What callers may cost.
    public let limits: ControlLimits
    /// What was done so far.
    public internal(set) var statistics = ControlStatistics()
    /// Called for what is worth a line in a log, at most ten times at once and once a second after that.
    public var onNotice: (ControlNotice) -> Void = { _ in }

    let info: ServiceInfo
    private(set) weak var handler: (any ControlHandler)?
    var events: EventRing
    let decoder = JSONDecoder()
    let encoder = JSONEncoder()

    private let loop: EventLoop
    private let socket: ControlSocket
    private let priority: EventLoop.Priority
    private var arrivals: IOSource?
    private var turns: Timer?
    private var patience: Timer?
    private var connections: [UInt64: ControlConnection] = [:]
    private var queue: [UInt64] = []
    private var lastID: UInt64 = 0
    private var acceptAgainAt: Instant?
    private var noticeBucket = TokenBucket(capacity: 10, perSecond: 1)
    private var suppressedNotices = 0

    /// Begins to serve.
    ///
    /// - Parameters:
    ///   - loop: Where it serves.
    ///   - socket: Where callers arrive.
    ///   - handler: Who carries out what is asked for; not kept alive.
    ///   - info: What is said of this watchdogd.
    ///   - access: Who may do what.
    ///   - limits: What callers may cost.
    ///   - priority: When it has its turn.
    public init(
        loop: EventLoop, socket: ControlSocket, handler: any ControlHandler, info: ServiceInfo,
        access: ControlAccess = .own, limits: ControlLimits = ControlLimits(),
        priority: EventLoop.Priority = defaultPriority
    ) throws(LinuxError) {
        self.loop = loop
        self.socket = socket
        self.handler = handler
        self.info = info
        self.access = access
        self.limits = limits
        self.priority = priority
        events = EventRing(capacity: limits.eventHistory)
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        turns = try loop.timer(priority: priority) { [weak self] _ in self?.giveTurn() }
        patience = try loop.timer(priority: priority) { [weak self] _ in self?.losePatience() }
        arrivals = try loop.onReadable(socket.descriptor, priority: priority) { [weak self] in self?.accept() }
    }

    /// Tells an event to whoever monitors, and keeps it for those who ask later.
    public func publish(_ event: ControlEvent) {
        events.append(event)
        for connection in connections.values {
            if case .monitoring = connection.activity { enqueue(connection) }
        }
    }

    /// Tells callers that watchdogd is ending, closes their connections, and takes no more.
    ///
    /// The socket stays: ``ControlSocket/remove()`` removes it.
    public func stop() {
        for source in [arrivals, turns, patience] as [EventSource?] { source?.cancel() }
        (arrivals, turns, patience) = (nil, nil, nil)
        for connection in connections.values {
            switch connection.activity {
            case .answering, .monitoring: connection.output.append(encode(.shuttingDown))
            case .idle, .replying: break
            }
            connection.flush(at: loop.now)
            close(connection)
        }
    }

    // MARK: - Arrivals

    private func accept() {
        let number = wd_stream_accept(socket.descriptor.number)
        guard number >= 0 else {
            acceptFailed(Errno(rawValue: errno))
            return
        }
        let descriptor = OwnedDescriptor(taking: number)
        var credentials = wd_stream_peer()
        guard wd_stream_peer(number, &credentials) == 0 else { return }
        let peer = ControlPeer(pid: credentials.pid, user: credentials.user, group: credentials.group)
        let mayAct = access.allows(.act, to: peer.user)
        let connection = ControlConnection(
            id: lastID + 1, peer: peer, mayAct: mayAct, descriptor: descriptor, limits: limits, now: loop.now)
        guard isAdmitted(peer, mayAct: mayAct) else {
            statistics.refused += 1
            connection.output.append(encode(.tooManyConnections(limit: limits.connections)))
            connection.flush(at: loop.now)
            notice(.refused, peer)
            return
        }
        do {
            connection.source = try loop.onReady(descriptor, for: .readable, priority: priority) {
                [weak self, weak connection] readiness in
                if let self, let connection { serve(connection, readiness) }
            }
        } catch {
            notice(.failed(error), peer)
            return
        }
        lastID += 1
        connections[lastID] = connection
        statistics.accepted += 1
        statistics.open += 1
        settle(connection)
    }

    private func isAdmitted(_ peer: ControlPeer, mayAct: Bool) -> Bool {
        limits.admits(
            mayAct: mayAct,
            all: connections.count,
            others: connections.values.count { !$0.mayAct },
            own: connections.values.count { $0.peer.user == peer.user }
        )
    }

    func acceptFailed(_ error: Errno) {
        switch error.rawValue {
        case EAGAIN, ECONNABORTED, EPERM: break
        default:
            // Without a free descriptor the caller stays in the queue, and the socket readable: it would be tried again
            // and again.
            do {
                try arrivals?.watch(for: [])
                acceptAgainAt = loop.now + .milliseconds(250)
                armPatience(at: acceptAgainAt)
            } catch let error {
                notice(.failed(error), nil)
            }
            notice(.acceptFailed(error), nil)
        }
    }

    // MARK: - Turns

    private func serve(_ connection: ControlConnection, _ readiness: IOSource.Readiness) {
        if readiness.contains(.hungUp) || readiness.contains(.failed) {
            // It would be told again and again. What the caller sent before is still carried out.
            connection.isGone = true
            connection.source?.cancel()
        }
        if !readiness.isDisjoint(with: [.readable, .hungUp, .failed]) { connection.receive() }
        takeTurn(connection)
    }

    /// Lets a connection have a turn when it comes.
    private func enqueue(_ connection: ControlConnection) {
        guard !connection.isQueued, connections[connection.id] != nil else { return }
        connection.isQueued = true
        queue.append(connection.id)
        if queue.count == 1 { turns?.arm(at: loop.now) }
    }

    private func giveTurn() {
        guard !queue.isEmpty else { return }
        let id = queue.removeFirst()
        if let connection = connections[id] {
            connection.isQueued = false
            takeTurn(connection)
        }
        if !queue.isEmpty { turns?.arm(at: loop.now) }
    }

    /// Does one short thing for a connection: reads a call, or writes a part of a reply.
    private func takeTurn(_ connection: ControlConnection) {
        guard connections[connection.id] != nil, !connection.isBusy else { return }
        connection.isBusy = true
        if connection.isIdle { takeCall(connection) }
        write(connection)
        connection.flush(at: loop.now)
        connection.isBusy = false
        settle(connection)
    }

    private func takeCall(_ connection: ControlConnection) {
        guard !connection.isClosing, connection.output.count < limits.outputBytes else { return }
        if connection.isGone, !connection.input.hasMessage { connection.receive() }
        guard connection.input.hasMessage else { return }
        let now = loop.now
        if let until = connection.throttledUntil, until > now { return }
        connection.throttledUntil = connection.bucket.take(at: now)
        guard connection.throttledUntil == nil else {
            statistics.throttled += 1
            return
        }
        do {
            guard let message = try connection.input.next() else { return }
            connection.lastSign = now
            let call = try VarlinkCall(decoding: message, with: decoder)
            statistics.calls += 1
            perform(call, for: connection)
        } catch {
            statistics.malformed += 1
            notice(.malformed(reason: error.description), connection.peer)
            begin(.malformedMessage(reason: error.description), for: connection)
            connection.isClosing = true
        }
    }

    private func write(_ connection: ControlConnection) {
        guard connection.output.count < limits.outputBytes || connection.isGone else { return }
        switch connection.activity {
        case .idle, .answering: break
        case .replying(var writer):
            // The copy in the enumeration would make each change copy the pieces.
            connection.activity = .idle
            let isComplete = writer.write(to: &connection.output, atMost: limits.piecesPerTurn)
            if !isComplete, !connection.isGone { connection.activity = .replying(writer) }
        case .monitoring(var cursor):
            for _ in 0..<limits.piecesPerTurn {
                guard let step = events.read(&cursor, encode: { encode(MonitorReply(event: $0)) }) else { break }
                switch step {
                case .skipped: break
                case .reply(let bytes): connection.output.append(bytes)
                case .missed(let count):
                    statistics.missedEvents += count
                    connection.output.append(encode(MonitorReply(missed: count)))
                }
            }
            connection.activity = connection.isGone ? .idle : .monitoring(cursor)
        }
    }

    /// Decides how it goes on with a connection after a turn.
    private func settle(_ connection: ControlConnection) {
        guard connections[connection.id] != nil else { return }
        if isOver(connection) {
            close(connection)
            return
        }
        if hasWork(connection) { enqueue(connection) }
        do {
            // A caller that only reads no more would be told writable for ever.
            if connection.isGone { connection.source?.cancel() } else { try connection.updateInterest() }
        } catch {
            notice(.failed(error), connection.peer)
            close(connection)
            return
        }
        armPatience(at: deadline(of: connection))
    }

    private func isOver(_ connection: ControlConnection) -> Bool {
        guard connection.output.isEmpty || connection.isGone else { return false }
        switch connection.activity {
        case .answering, .replying: return false
        case .monitoring: return connection.isGone
        case .idle: return connection.isClosing || (connection.isInputEnded && !connection.input.hasMessage)
        }
    }

    private func hasWork(_ connection: ControlConnection) -> Bool {
        guard connection.output.count < limits.outputBytes else { return false }
        switch connection.activity {
        case .answering: return false
        case .replying: return true
        case .monitoring(let cursor): return events.hasMore(for: cursor)
        case .idle:
            guard !connection.isClosing, connection.throttledUntil == nil else { return false }
            return connection.input.hasMessage || (connection.isGone && !connection.isInputEnded)
        }
    }

    func close(_ connection: ControlConnection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        connection.source?.cancel()
        connection.source = nil
        statistics.open -= 1
    }

    /// The connection, if it still is there and waits for the answer to this call.
    func connection(_ id: UInt64, answering call: UInt64) -> ControlConnection? {
        guard let connection = connections[id], case .answering(call) = connection.activity else { return nil }
        return connection
    }

    /// An answer came: it is sent in the turn that lasts, or soon.
    func answered(_ connection: ControlConnection) {
        if !connection.isBusy { enqueue(connection) }
    }

    // MARK: - Patience

    private func deadline(of connection: ControlConnection) -> Instant? {
        if let throttledUntil = connection.throttledUntil { return throttledUntil }
        if let unreadSince = connection.unreadSince { return unreadSince + limits.unreadPatience }
        return connection.isIdle ? connection.lastSign + limits.silencePatience : nil
    }

    private func armPatience(at instant: Instant?) {
        guard let instant, let patience, instant < patience.due ?? Instant(nanoseconds: .max) else { return }
        patience.arm(at: instant)
    }

    private func losePatience() {
        let now = loop.now
        if let again = acceptAgainAt, again <= now {
            acceptAgainAt = nil
            do {
                try arrivals?.watch(for: .readable)
            } catch {
                notice(.failed(error), nil)
            }
        }
        for connection in connections.values {
            guard let deadline = deadline(of: connection), deadline <= now else { continue }
            if connection.throttledUntil != nil {
                connection.throttledUntil = nil
                enqueue(connection)
            } else if connection.unreadSince != nil {
                statistics.unread += 1
                notice(.unread, connection.peer)
                close(connection)
            } else {
                statistics.silent += 1
                notice(.silent, connection.peer)
                close(connection)
            }
        }
        armPatience(at: acceptAgainAt)
        for connection in connections.values { armPatience(at: deadline(of: connection)) }
    }

    func notice(_ kind: ControlNotice.Kind, _ peer: ControlPeer?) {
        guard noticeBucket.take(at: loop.now) == nil else {
            suppressedNotices += 1
            return
        }
        let suppressed = suppressedNotices
        suppressedNotices = 0
        onNotice(ControlNotice(kind: kind, peer: peer, suppressed: suppressed))
    }
}
