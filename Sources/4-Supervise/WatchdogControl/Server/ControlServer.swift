// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
public import WatchdogLinux

/// Serves `org.watchdogd.Supervisor` to the clients of a socket.
///
/// Clients cannot stall the loop: the server never blocks, a turn handles one call or encodes a few values, and turns
/// have a lower priority than everything else, including deadlines. Only delayed answers of the daemon are sent before
/// deadlines: there is one for each call, and the client waits for it. ``ControlLimits`` bounds the resources of a
/// client.
///
/// Isolation: the loop's thread.
public final class ControlServer {
    /// Lower than deadlines: replies are less urgent than supervision.
    public static let defaultPriority = EventLoop.Priority.last

    /// The access rules.
    public let access: ControlAccess
    /// The limits on clients.
    public let limits: ControlLimits
    /// The counters so far.
    public internal(set) var statistics = ControlStatistics()
    /// Called with notices for the log, at most ten in a burst and then one a second.
    public var onNotice: (ControlNotice) -> Void = { _ in }

    let info: ServiceInfo
    private(set) weak var handler: (any ControlHandler)?
    var events: EventRing
    let decoder = JSONDecoder()
    let encoder = JSONEncoder()

    let loop: EventLoop
    let socket: ControlSocket
    let closer: Closer?
    let priority: EventLoop.Priority
    var arrivals: IOSource?
    private(set) var turns: CallSource?
    private(set) var replies: CallSource?
    private(set) var patience: Timer?
    /// The connections by number; a number is never reused.
    var connections: [UInt64: ControlConnection] = [:]
    var lastID: UInt64 = 0
    /// The connections that are queued for a turn.
    var queue: [UInt64] = []
    /// The connections with an answer that has arrived since their last turn.
    var answeredConnections: [UInt64] = []
    /// The time at which accepting resumes after a failure.
    var acceptAgainAt: Instant?
    private var noticeBucket = TokenBucket(capacity: 10, perSecond: 1)
    private var suppressedNotices = 0

    /// Starts to serve.
    ///
    /// - Parameters:
    ///   - loop: the loop to serve on.
    ///   - socket: the listening socket.
    ///   - handler: executes the calls; held weakly.
    ///   - info: describes this watchdogd.
    ///   - closer: closes descriptors that clients pass, which the kernel does not refuse before Linux 6.16.
    ///   - access: the access rules.
    ///   - limits: the limits on clients.
    ///   - priority: the priority of turns.
    public init(
        loop: EventLoop, socket: ControlSocket, handler: any ControlHandler, info: ServiceInfo,
        closer: Closer? = nil, access: ControlAccess = .own, limits: ControlLimits = ControlLimits(),
        priority: EventLoop.Priority = defaultPriority
    ) throws(LinuxError) {
        self.loop = loop
        self.socket = socket
        self.handler = handler
        self.closer = closer
        self.info = info
        self.access = access
        self.limits = limits
        self.priority = priority
        events = EventRing(capacity: limits.eventHistory)
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        turns = try loop.soon(priority: priority) { [weak self] in self?.giveTurn() }
        replies = try loop.soon { [weak self] in self?.giveReply() }
        // Lower than the connections' priority: input that arrived in time counts, even if it is handled late.
        let last = EventLoop.Priority(rawValue: priority.rawValue + 1)
        patience = try loop.timer(priority: last) { [weak self] _ in self?.losePatience() }
        arrivals = try loop.onReadable(socket.descriptor, priority: priority) { [weak self] in self?.accept() }
        // Keep the socket open until this process ends: closing it would close unaccepted connections, and descriptors
        // passed over them.
        if !socket.refusesDescriptors { _ = closer?.keep(socket.descriptor, for: Self.clients) }
    }

    /// Sends an event to clients that monitor, and keeps it for later ones.
    public func publish(_ event: ControlEvent) {
        events.append(event)
        for connection in connections.values {
            if case .monitoring = connection.calls.first { enqueue(connection) }
        }
    }

    /// Sends clients the error that watchdogd is ending, closes their connections, and accepts no more.
    ///
    /// The socket stays until ``ControlSocket/remove()``.
    public func stop() {
        for source in [arrivals, turns, replies, patience] as [EventSource?] { source?.cancel() }
        (arrivals, turns, replies, patience) = (nil, nil, nil, nil)
        for connection in connections.values {
            sayLast(to: connection)
            connection.flush(at: loop.now)
            close(connection)
        }
    }

    /// Fails the calls that await a reply, and sends replies that are nearly complete; a long reply stays unfinished.
    private func sayLast(to connection: ControlConnection) {
        var isWhole = true
        while isWhole, !connection.calls.isEmpty {
            connection.calls.updateFirst { progress in
                switch progress {
                case .awaited, .monitoring: connection.output.append(encode(.shuttingDown))
                case .ready(var writer):
                    isWhole = writer.write(to: &connection.output, atMost: max(1, limits.piecesPerTurn))
                }
                return nil
            }
        }
    }

    func notice(_ kind: ControlNotice.Kind, _ peer: ControlPeer?) {
        guard noticeBucket.admit(at: loop.now) else {
            suppressedNotices += 1
            return
        }
        let suppressed = suppressedNotices
        suppressedNotices = 0
        onNotice(ControlNotice(kind: kind, peer: peer, suppressed: suppressed))
    }
}

/// The counters of a ``ControlServer``.
public struct ControlStatistics: Hashable, Sendable {
    /// The number of open connections.
    public internal(set) var open = 0
    /// The number of accepted connections.
    public internal(set) var accepted = 0
    /// The number of connections that were closed immediately because there were too many.
    public internal(set) var refused = 0
    /// The number of connections that were closed because replies were not read.
    public internal(set) var unread = 0
    /// The number of connections that were closed because they were idle.
    public internal(set) var silent = 0
    /// The number of connections that were closed because of an invalid message.
    public internal(set) var malformed = 0
    /// The number of valid calls.
    public internal(set) var calls = 0
    /// The number of calls with an error as the reply.
    public internal(set) var errors = 0
    /// The number of calls that the rate limit delayed.
    public internal(set) var throttled = 0
    /// The number of events that were dropped before a monitoring client had read them.
    public internal(set) var missedEvents = 0
}
