// SPDX-License-Identifier: Apache-2.0

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
    public static let defaultPriority = EventLoop.Priority.last

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

    let loop: EventLoop
    let socket: ControlSocket
    let priority: EventLoop.Priority
    var arrivals: IOSource?
    private(set) var turns: Timer?
    private(set) var patience: Timer?
    /// By their number, which is never used again.
    var connections: [UInt64: ControlConnection] = [:]
    var lastID: UInt64 = 0
    /// Who waits for a turn.
    var queue: [UInt64] = []
    /// When callers are taken again after that had failed.
    var acceptAgainAt: Instant?
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
        // After the connections: what came in time counts, however late it is looked at.
        let last = EventLoop.Priority(rawValue: priority.rawValue + 1)
        patience = try loop.timer(priority: last) { [weak self] _ in self?.losePatience() }
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
