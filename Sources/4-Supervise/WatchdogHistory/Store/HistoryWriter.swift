// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase
public import WatchdogLinux

/// The thread that writes the history, so that the loop never waits for the disk.
///
/// Entries recorded during a transaction are written in the next one. If the queue is full, entries are dropped and
/// counted.
///
/// Isolation: may be used from any thread.
public final class HistoryWriter: Sendable {
    /// A message of the thread.
    public enum News: Equatable, Sendable {
        /// A problem of the store, as a sentence.
        case problem(String)
        /// A new version launches more slowly.
        case regression(LaunchRegression)
    }

    private struct State {
        var waiting: [HistoryEntry] = []
        var dropped = 0
        var isWriting = false
        var isEnding = false
        var thread: WorkerThread?
    }

    /// The maximum number of queued entries.
    private let capacity: Int
    private let state = Mutex(State())
    private let wakeUp = PosixSemaphore()

    /// Starts the thread, which opens the store.
    ///
    /// - Parameters:
    ///   - path: the file of the store.
    ///   - limits: the limits of the store.
    ///   - host: this machine's name.
    ///   - capacity: the maximum number of queued entries; more are dropped and counted.
    ///   - tell: called on the thread.
    /// - Throws: if the thread cannot be started.
    public init(
        path: String, limits: HistoryStore.Limits = HistoryStore.Limits(), host: String, capacity: Int = 4_096,
        tell: @escaping @Sendable (News) -> Void
    ) throws(LinuxError) {
        self.capacity = capacity
        let thread = try WorkerThread.start { [self] in
            var work = HistoryWork(path: path, limits: limits, host: host, tell: tell)
            while let (entries, dropped) = next() { work.write(entries, dropped: dropped) }
            work.end()
        }
        state.withLock { $0.thread = thread }
    }

    /// Records an entry; never blocks for longer than a copy takes.
    ///
    /// - Returns: false if the queue was full, and the entry was dropped.
    @discardableResult
    public func record(_ entry: HistoryEntry) -> Bool {
        let fits = state.withLock { state in
            guard !state.isEnding, state.waiting.count < capacity else {
                state.dropped += 1
                return false
            }
            state.waiting.append(entry)
            return true
        }
        if fits { wakeUp.signal() }
        return fits
    }

    /// Ends the thread after it has written the queue; waits for at most `limit`.
    ///
    /// - Returns: false if the thread was still writing.
    @discardableResult
    public func shutDown(within limit: Duration) -> Bool {
        let thread = state.withLock { state in
            state.isEnding = true
            defer { state.thread = nil }
            return state.thread
        }
        wakeUp.signal()
        return thread?.join(until: .now() + limit) ?? true
    }

    /// Waits until all entries are written, for at most `limit`.
    public func flush(within limit: Duration) {
        let end = Instant.now() + limit
        while state.withLock({ $0.isWriting || !$0.waiting.isEmpty }), .now() < end { usleep(1_000) }
    }

    /// Waits for entries; nil after the shutdown.
    private func next() -> (entries: [HistoryEntry], dropped: Int)? {
        while true {
            let (entries, dropped, isEnding) = state.withLock { state in
                state.isWriting = !state.waiting.isEmpty
                defer { (state.waiting, state.dropped) = ([], 0) }
                return (state.waiting, state.dropped, state.isEnding)
            }
            if !entries.isEmpty || dropped > 0 { return (entries, dropped) }
            if isEnding { return nil }
            wakeUp.wait()
        }
    }
}

/// The work of the thread: opens the store, writes, prunes, and checks for regressions.
///
/// Isolation: the history's thread.
private struct HistoryWork {
    private static let pruning: Duration = .seconds(3_600)
    /// The time until the next attempt after a failure of the store.
    private static let patience: Duration = .seconds(60)

    private let path: String
    private let limits: HistoryStore.Limits
    private let host: String
    private let tell: @Sendable (HistoryWriter.News) -> Void
    private let packages = DebianPackages()
    private var store: HistoryStore?
    /// Whether a problem was told and nothing has been written since.
    private var isFailing = false
    private var retry: Instant?
    private var pruned: Instant?
    private var lost = 0
    /// The start of the latest moment of each app's launches.
    private var moments: [String: Instant] = [:]

    init(
        path: String, limits: HistoryStore.Limits, host: String,
        tell: @escaping @Sendable (HistoryWriter.News) -> Void
    ) {
        self.path = path
        self.limits = limits
        self.host = host
        self.tell = tell
        open()
    }

    private mutating func open() {
        do throws(HistoryError) {
            let opened = try HistoryStore.open(path, limits: limits)
            store = opened.store
            if let warning = opened.warning { tell(.problem(warning)) }
            retry = nil
        } catch {
            failed(error)
        }
    }

    /// Says the first problem until something is written again, and tries again later.
    ///
    /// A full disk may fail in another way each time: at the opening, at the first page, or later.
    private mutating func failed(_ error: HistoryError) {
        store = nil
        // Only another watchdogd or an administrator can change that, so do not retry.
        retry = [.newer, .foreign].contains(error.code) ? nil : .now() + Self.patience
        guard !isFailing else { return }
        isFailing = true
        tell(.problem("launches are not recorded: \(error)"))
    }

    mutating func write(_ entries: [HistoryEntry], dropped: Int) {
        lost += dropped
        let now = Instant.now()
        if store == nil, let retry, now >= retry { open() }
        guard let store else {
            lost += entries.count
            return
        }
        let entries = entries.map { $0.resolved(by: packages) }
        do throws(HistoryError) {
            try store.add(entries)
            if pruned.map({ now - $0 >= Self.pruning }) ?? true {
                pruned = now
                try store.prune(at: .now())
            }
            try look(for: entries, in: store, at: now)
        } catch {
            lost += entries.count
            failed(error)
            // Reopen immediately, which sets a damaged store aside.
            if error.code == .damaged { open() }
            return
        }
        isFailing = false
        guard lost > 0 else { return }
        tell(.problem("launches, hangs and exits not recorded because the disk was too slow or full: \(lost)"))
        lost = 0
    }

    /// Checks apps for regressions if their launches start a new moment.
    private mutating func look(
        for entries: [HistoryEntry], in store: HistoryStore, at now: Instant
    ) throws(HistoryError) {
        for case .launch(let launch) in entries where launch.kind == .launch {
            if let moment = moments[launch.app], now - moment < RegressionRule.momentLength { continue }
            moments[launch.app] = now
            if let regression = try store.regression(of: launch.app, on: host) { tell(.regression(regression)) }
        }
    }

    mutating func end() { store = nil }
}
