// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// What the thread of a ``TextServer`` does.
///
/// Isolation: that thread.
final class TextServing {
    private static let plain = "text/plain; charset=utf-8"
    /// The connections accepted in one turn.
    private static let arrivals = 64
    /// How long no connection is accepted after a failure, such as too many open files.
    private static let pause = Duration.milliseconds(250)

    private let listener: OwnedDescriptor
    private let wakeUp: OwnedDescriptor
    private let path: String
    private let contentType: String
    private let limits: TextServer.Limits
    private let seats: TextSeats
    private let ask: () -> Void
    private var connections: [TextConnection] = []
    private var latest: (text: [UInt8], head: [UInt8], generation: Int, since: Instant)?
    private var lastGeneration = 0
    private var isAsked = false
    private var acceptAgainAt: Instant?

    init(
        _ listener: OwnedDescriptor, _ wakeUp: OwnedDescriptor, path: String, contentType: String,
        _ limits: TextServer.Limits, ask: @escaping () -> Void
    ) {
        (self.listener, self.wakeUp, self.path, self.contentType) = (listener, wakeUp, path, contentType)
        (self.limits, self.ask, seats) = (limits, ask, TextSeats(limits: limits))
    }

    /// Waits for something to do, and does it.
    ///
    /// - Parameter text: the requested text, if it has arrived.
    func turn(provided text: [UInt8]?) {
        if let text { provide(text) }
        let now = Instant.now()
        if let again = acceptAgainAt, now >= again { acceptAgainAt = nil }
        var entries = [
            pollfd(fd: wakeUp.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: acceptAgainAt == nil ? listener.number : -1, events: Int16(POLLIN), revents: 0),
        ]
        entries += connections.map { pollfd(fd: $0.descriptor.number, events: $0.events, revents: 0) }
        poll(&entries, nfds_t(entries.count), milliseconds(from: now))
        if entries[0].revents != 0 { _ = wd_eventfd_clear(wakeUp.number) }
        for (connection, entry) in zip(connections, entries.dropFirst(2)) where entry.revents != 0 {
            serve(connection, entry.revents)
        }
        expire(at: .now())
        if entries[1].revents != 0 { accept() }
    }

    /// Until the next deadline, rounded up.
    private func milliseconds(from now: Instant) -> Int32 {
        var next = Instant.earliest(connections.map { seats.deadline(of: $0.seat) }.min(), acceptAgainAt)
        if let latest { next = .earliest(next, latest.since + limits.freshness) }
        guard let next else { return -1 }
        return Int32(clamping: (max(.zero, next - now).nanoseconds + 999_999) / 1_000_000)
    }

    private func expire(at now: Instant) {
        for connection in connections where seats.deadline(of: connection.seat) <= now { connection.end() }
        forgetEnded()
        // A text that nobody wants now is not kept.
        if let latest, latest.since + limits.freshness <= now, !isSent(latest.generation) { self.latest = nil }
    }

    private func accept() {
        for _ in 0..<Self.arrivals {
            let number = wd_stream_accept(listener.number)
            guard number >= 0 else {
                if ![EAGAIN, ECONNABORTED].contains(errno) { acceptAgainAt = .now() + Self.pause }
                return
            }
            admit(TextConnection(OwnedDescriptor(taking: number), at: .now()))
        }
    }

    private func admit(_ connection: TextConnection) {
        let arrival = seats.place(for: connection.seat.peer, among: connections.map(\.seat), at: connection.seat.since)
        switch arrival {
        case .admitted: break
        case .instead(of: let index): refuse(connections.remove(at: index), .unavailable)
        case .refused: return refuse(connection, .unavailable)
        }
        connections.append(connection)
        // Its request may have come with it; then nobody who arrives in the same turn takes its place.
        serve(connection, Int16(POLLIN))
        forgetEnded()
    }

    private func forgetEnded() {
        connections.removeAll { if case .done = $0.phase { true } else { false } }
    }

    private func serve(_ connection: TextConnection, _ events: Int16) {
        switch connection.phase {
        case .reading:
            switch connection.receive(limit: limits.requestBytes) {
            case .incomplete: break
            case .refused(let status): refuse(connection, status)
            case .get(path: self.path), .head(path: self.path): request(connection)
            case .get, .head: refuse(connection, .notFound)
            }
        // Nothing else is polled for.
        case .waiting: connection.end()
        case .writing: connection.send(at: .now())
        case .done: break
        }
    }

    private func refuse(_ connection: TextConnection, _ status: HTTPStatus) {
        let body = Array("\(status.rawValue.dropFirst(4)); the metrics are at \(path)\n".utf8)
        connection.answer(status.head(contentType: Self.plain, length: body.count), body, at: .now())
    }

    // MARK: - The text

    private func isSent(_ generation: Int) -> Bool { connections.contains { $0.generation == generation } }

    /// Whether an older text is still being sent, so that another one would be the third in memory.
    private var isOlderSent: Bool {
        connections.contains { connection in connection.generation.map { $0 != latest?.generation } ?? false }
    }

    private func request(_ connection: TextConnection) {
        if let latest, .now() - latest.since < limits.freshness || isOlderSent {
            connection.answer(latest.head, latest.text, generation: latest.generation, at: .now())
            return
        }
        connection.wait()
        guard !isAsked else { return }
        isAsked = true
        ask()
    }

    private func provide(_ text: [UInt8]) {
        isAsked = false
        lastGeneration += 1
        let head = HTTPStatus.okay.head(contentType: contentType, length: text.count)
        latest = (text, head, lastGeneration, .now())
        for connection in connections {
            if case .waiting = connection.phase {
                connection.answer(head, text, generation: lastGeneration, at: .now())
            }
        }
    }
}
