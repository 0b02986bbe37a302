// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

extension ControlServer {
    func serve(_ connection: ControlConnection, _ readiness: IOSource.Readiness) {
        if readiness.contains(.hungUp) || readiness.contains(.failed) {
            // EPOLLHUP is reported continuously, so stop watching. Calls received before are still executed.
            connection.isGone = true
            connection.source?.cancel()
        }
        if !readiness.isDisjoint(with: [.readable, .hungUp, .failed]) { connection.receive() }
        takeTurn(connection)
    }

    /// Queues a connection for a turn.
    func enqueue(_ connection: ControlConnection) {
        guard !connection.isQueued, connections[connection.id] != nil else { return }
        connection.isQueued = true
        queue.append(connection.id)
        if queue.count == 1 { turns?.callAgain() }
    }

    func giveTurn() {
        guard !queue.isEmpty else { return }
        let id = queue.removeFirst()
        if let connection = connections[id] {
            connection.isQueued = false
            takeTurn(connection)
        }
        if !queue.isEmpty { turns?.callAgain() }
    }

    /// Sends the oldest of the answers that have arrived.
    func giveReply() {
        guard !answeredConnections.isEmpty else { return }
        // Do not start another call: new work has a lower priority than deadlines.
        if let connection = connections[answeredConnections.removeFirst()] { takeTurn(connection, takesCall: false) }
        if !answeredConnections.isEmpty { replies?.callAgain() }
    }

    /// Executes one short step for a connection: handles a call, and writes part of a reply.
    ///
    /// A call with a delayed reply does not block the calls behind it; only their replies wait for its reply.
    private func takeTurn(_ connection: ControlConnection, takesCall: Bool = true) {
        guard connections[connection.id] != nil, !connection.isBusy else { return }
        connection.isBusy = true
        if takesCall { takeCall(connection) }
        write(connection)
        connection.flush(at: loop.now)
        connection.isBusy = false
        schedule(connection)
    }

    private func takeCall(_ connection: ControlConnection) {
        guard connection.hasRoom, connection.output.count < limits.outputBytes else { return }
        if connection.isGone, !connection.input.hasMessage { connection.receive() }
        guard connection.input.hasMessage else { return }
        let now = loop.now
        if let until = connection.throttledUntil, until > now { return }
        connection.throttledUntil = connection.bucket.admit(at: now) ? nil : connection.bucket.earliest()
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
            connection.calls.add(.ready(writer(of: .malformedMessage(reason: error.description), for: connection)))
            connection.isClosing = true
        }
    }

    /// Writes a part of the next reply.
    private func write(_ connection: ControlConnection) {
        guard connection.output.count < limits.outputBytes, !connection.isGone else { return }
        connection.calls.updateFirst { progress in
            switch progress {
            case .awaited: return progress
            case .ready(var writer):
                let isComplete = writer.write(to: &connection.output, atMost: max(1, limits.piecesPerTurn))
                return isComplete ? nil : .ready(writer)
            case .monitoring(var cursor, let follows, let opening):
                if let opening { connection.output.append(opening) }
                return writeEvents(from: &cursor, follows: follows, to: connection)
            }
        }
    }

    private func writeEvents(
        from cursor: inout EventRing.Cursor, follows: Bool, to connection: ControlConnection
    ) -> CallQueue.Progress {
        for _ in 0..<max(1, limits.piecesPerTurn) {
            guard let step = events.read(&cursor, encode: { encode(MonitorReply(event: $0)) }) else { break }
            switch step {
            case .skipped: break
            case .reply(let bytes): connection.output.append(bytes)
            case .missed(let count):
                statistics.missedEvents += count
                connection.output.append(encode(MonitorReply(missed: count)))
            }
        }
        let isOver = !follows && !events.hasMore(for: cursor)
        return isOver
            ? .ready(ReplyWriter(.whole(MonitorReply()), encoder: encoder))
            : .monitoring(cursor, follows: follows, opening: nil)
    }

    /// Schedules the next step of a connection after a turn.
    func schedule(_ connection: ControlConnection) {
        guard connections[connection.id] != nil else { return }
        if connection.isGone { connection.calls.dropReplies() }
        if isOver(connection) {
            close(connection)
            return
        }
        if hasWork(connection) { enqueue(connection) }
        do {
            // The socket of such a client is reported writable continuously.
            if connection.isGone { connection.source?.cancel() } else { try connection.updateInterest() }
        } catch {
            notice(.failed(error), connection.peer)
            close(connection)
            return
        }
        armPatience(at: deadline(of: connection))
    }

    private func isOver(_ connection: ControlConnection) -> Bool {
        guard connection.output.isEmpty || connection.isGone, connection.calls.isEmpty else { return false }
        return connection.isClosing || (connection.isInputEnded && !connection.input.hasMessage)
    }

    private func hasWork(_ connection: ControlConnection) -> Bool {
        guard connection.output.count < limits.outputBytes else { return false }
        let canWrite =
            switch connection.calls.first {
            case nil, .awaited: false
            case .ready: true
            case .monitoring(let cursor, let follows, let opening):
                opening != nil || !follows || events.hasMore(for: cursor)
            }
        return canWrite || canTakeCall(connection)
    }

    private func canTakeCall(_ connection: ControlConnection) -> Bool {
        guard connection.hasRoom, connection.throttledUntil == nil else { return false }
        return connection.input.hasMessage || (connection.isGone && !connection.isInputEnded)
    }

    func close(_ connection: ControlConnection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        connection.source?.cancel()
        connection.source = nil
        if let ticket = connection.ticket { closer?.release(ticket) }
        statistics.open -= 1
    }

    /// Sends a reply in the current turn, or after the current handler.
    func answered(_ connection: ControlConnection) {
        guard !connection.isBusy else { return }
        answeredConnections.append(connection.id)
        if answeredConnections.count == 1 { replies?.callAgain() }
    }
}
