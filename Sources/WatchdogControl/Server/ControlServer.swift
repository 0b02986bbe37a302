// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
public import WatchdogLinux

/// Serves `org.watchdogd.Supervisor` to the clients of a socket.
///
/// Clients cannot stall the loop: nothing here waits, no turn takes longer than handling one call or encoding a few
/// values, and turns come after everything more important, including deadlines. Only an answer that the daemon owed is
/// sent before deadlines: there is one for each call, and the client waits for it. ``ControlLimits`` bounds what a client
/// may use.
///
/// Isolation: the loop's thread.
public final class ControlServer {
    /// Lower than deadlines: replies are less urgent than supervision.
    public static let defaultPriority = EventLoop.Priority.last

    /// The access rules.
    public let access: ControlAccess
    /// The limits on clients.
    public let limits: ControlLimits
    /// Counts of what was done so far.
    public internal(set) var statistics = ControlStatistics()
    /// Called for what is worth a log line, at most ten times in a burst and then once a second.
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
    /// By connection number, which is never reused.
    var connections: [UInt64: ControlConnection] = [:]
    var lastID: UInt64 = 0
    /// Connections waiting for a turn.
    var queue: [UInt64] = []
    /// Connections whose answer has come since their last turn.
    var answeredConnections: [UInt64] = []
    /// When connections are accepted again after a failure.
    var acceptAgainAt: Instant?
    private var noticeBucket = TokenBucket(capacity: 10, perSecond: 1)
    private var suppressedNotices = 0

    /// Starts to serve.
    ///
    /// - Parameters:
    ///   - loop: the loop to serve on.
    ///   - socket: where clients connect.
    ///   - handler: executes the calls; held weakly.
    ///   - info: describes this watchdogd.
    ///   - closer: closes what clients pass where the kernel does not refuse it, before Linux 6.16.
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
        // After the connections: what came in time counts, however late it is handled.
        let last = EventLoop.Priority(rawValue: priority.rawValue + 1)
        patience = try loop.timer(priority: last) { [weak self] _ in self?.losePatience() }
        arrivals = try loop.onReadable(socket.descriptor, priority: priority) { [weak self] in self?.accept() }
        // Until this process ends: connections that nobody accepted end with the socket, and what was passed with them.
        if !socket.refusesDescriptors { _ = closer?.keep(socket.descriptor, for: Self.clients) }
    }

    /// Sends an event to clients that monitor, and keeps it for later ones.
    public func publish(_ event: ControlEvent) {
        events.append(event)
        for connection in connections.values {
            if case .monitoring = connection.calls.first { enqueue(connection) }
        }
    }

    /// Tells clients that watchdogd is ending, closes their connections, and accepts no more.
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

    /// Ends all calls in progress, as far as that is a matter of a few bytes: a long reply ends the connection unfinished.
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
