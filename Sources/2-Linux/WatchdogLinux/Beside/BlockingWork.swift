// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Calls that another party can make hang; they run off the loop, each with a deadline.
///
/// A call that misses its deadline is abandoned: its thread stays until the call returns, and its result is dropped.
///
/// Isolation: the loop's thread.
public final class BlockingWork {
    /// Identifies a call that has not ended.
    public struct Ticket: Hashable, Sendable {
        fileprivate let id: Int
    }

    private struct Result: Sendable {
        let id: Int
        let value: any Sendable
    }

    private struct Pending {
        let deadline: Instant
        let end: ((any Sendable)?) -> Void
    }

    private let loop: EventLoop
    private let threads: BlockingThreads
    private let mailbox: Mailbox<Result>
    private var pending: [Int: Pending] = [:]
    private var lastID = 0
    private var source: IOSource?
    /// Results that wait to be delivered.
    private var results: [Result] = []
    private var turn: CallSource?
    private var timer: Timer?

    /// Connects to the loop.
    public convenience init(on loop: EventLoop) throws(LinuxError) {
        try self.init(on: loop, BlockingThreads())
    }

    init(on loop: EventLoop, _ threads: BlockingThreads) throws(LinuxError) {
        self.loop = loop
        self.threads = threads
        mailbox = try Mailbox()
        source = try loop.receive(from: mailbox) { [unowned self] in
            if results.isEmpty { turn?.callAgain() }
            results.append($0)
        }
        turn = try loop.soon { [unowned self] in endNext() }
        timer = try loop.timer { [unowned self] _ in endOverdue() }
    }

    /// Runs a call off the loop.
    ///
    /// - Parameters:
    ///   - lane: groups calls, such as those of one app, that share few threads.
    ///   - owner: groups lanes, such as those of one user, that leave threads to others; nil for watchdogd's own.
    ///   - limit: how long the call may take, including the wait for a thread.
    ///   - call: the work that may block.
    ///   - end: gets the result on the loop, later; nil when the call did not finish in time.
    @discardableResult
    public func run<Value: Sendable>(
        in lane: Int, of owner: String? = nil, within limit: Duration, _ call: @escaping @Sendable () -> Value,
        then end: @escaping (Value?) -> Void
    ) -> Ticket {
        lastID += 1
        let id = lastID
        let isAccepted = threads.run(in: lane, of: owner) { [mailbox] in mailbox.post(Result(id: id, value: call())) }
        let deadline = isAccepted ? loop.now + limit : loop.now
        pending[id] = Pending(deadline: deadline) { end($0 as? Value) }
        // It may fire for a call that has ended since; then it is armed for the others.
        if let timer, timer.due.map({ deadline < $0 }) ?? true { timer.arm(at: deadline) }
        return Ticket(id: id)
    }

    /// Forgets a call: its handler will not be called.
    public func cancel(_ ticket: Ticket) {
        pending[ticket.id] = nil
    }

    /// Delivers one result per turn of the loop, because a handler may launch an app.
    private func endNext() {
        guard !results.isEmpty else { return }
        let result = results.removeFirst()
        if !results.isEmpty { turn?.callAgain() }
        end(result.id, result.value)
    }

    private func end(_ id: Int, _ value: (any Sendable)?) {
        let call = pending.removeValue(forKey: id)
        pending.releaseStorageIfEmpty()
        call?.end(value)
    }

    private func endOverdue() {
        let now = loop.now
        for id in pending.filter({ $0.value.deadline <= now }).keys.sorted() { end(id, nil) }
        timer?.arm(at: pending.values.lazy.map(\.deadline).min())
    }
}

/// What a call off the loop is currently doing, so that a timeout can name what does not answer.
///
/// Isolation: may be used from any thread.
public final class BlockingStep: Sendable {
    private let name: Locked<String>

    /// Starts with a first step.
    public init(_ name: String) {
        self.name = Locked(name)
    }

    /// The current step.
    public var description: String { name.withLock { $0 } }

    /// Enters another step.
    public func begin(_ name: String) { self.name.withLock { $0 = name } }
}
