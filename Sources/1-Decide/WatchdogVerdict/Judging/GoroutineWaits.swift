// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What the goroutines of a Go program wait for.
///
/// Go records no owner of a lock. But if every goroutine waits for another one, none of them can release a lock.
struct GoroutineWaits {
    private let capture: CapturedProcess
    private let goroutines: CapturedGoroutines
    /// Those that wait.
    private let waiting: [CapturedGoroutine]

    /// Nil if the process has no goroutines, or if they could not be read.
    init?(in capture: CapturedProcess) {
        guard let goroutines = capture.goroutines else { return nil }
        self.capture = capture
        self.goroutines = goroutines
        waiting = goroutines.shown.filter { !$0.isActive }
    }

    /// A probable deadlock, or the wait of the goroutine that runs `main` and what most others wait for; nil if that one
    /// runs, or serves and no other waits for a third.
    var finding: Finding? { deadlock ?? wait }

    private var deadlock: Finding? {
        guard isStill else { return nil }
        let stuck = waiting.filter { Self.locks[$0.state] != nil }
        let count = stuck.reduce(0) { $0 + $1.count }
        guard count > 1 else { return nil }
        let shown = stuck.prefix(stuck.count > 3 ? 2 : 3)
        var titles = shown.map(Self.title)
        let rest = count - shown.reduce(0) { $0 + $1.count }
        if rest > 0 { titles.append("\(rest) more") }
        let last = titles.popLast() ?? ""
        let list = titles.isEmpty ? last : "\(titles.joined(separator: ", ")) and \(last)"
        let locks = Set(stuck.map { Self.locks[$0.state] ?? "" })
        let what = locks.count == 1 ? "locks (\(locks.first ?? ""))" : "locks of package sync"
        return Finding(
            kind: .goroutineDeadlock,
            text: "Probably a deadlock: \(list) wait for \(what), and no other goroutine runs",
            source: source(stuck[0]))
    }

    private var wait: Finding? {
        guard let main = waiting.first(where: { $0.id == 1 }) else { return nil }
        let crowd = crowd
        if Self.isServing(main) {
            return crowd.map { group in
                Finding(
                    kind: .goroutineWait, text: "\(Self.sentence(group)), while the main goroutine waits for clients",
                    source: source(group))
            }
        }
        // A channel is also where workers wait for work.
        let others = crowd.flatMap { Self.locks[$0.state] == nil ? nil : "; \(Finding.clause(Self.sentence($0)[...]))" }
        return Finding(
            kind: .goroutineWait,
            text: "Main goroutine waits \(Self.object(main))\(Self.place(main))\(others ?? "")",
            source: source(main))
    }

    /// The largest group of other goroutines of the app that wait for a lock; if there is none, for another goroutine.
    private var crowd: CapturedGoroutine? {
        let groups = waiting.filter { $0.id != 1 && Self.isForOthers($0) && Self.own($0) != nil }
        let locked = groups.filter { Self.locks[$0.state] != nil }
        return (locked.isEmpty ? groups : locked).max { $0.count < $1.count }
    }

    /// Whether no goroutine runs, and none of those that wait can go on by itself.
    private var isStill: Bool {
        guard goroutines.isComplete, goroutines.activeCount <= goroutines.shown.count else { return false }
        let active = goroutines.shown.filter(\.isActive)
        let activeCount = active.reduce(0) { $0 + $1.count }
        guard activeCount == goroutines.activeCount, active.allSatisfy(isForSignals) else { return false }
        return waiting.allSatisfy { Self.isForOthers($0) || Self.isServing($0) }
    }

    /// Whether a goroutine waits for signals in a system call, as the one of package `os/signal` does.
    private func isForSignals(_ goroutine: CapturedGoroutine) -> Bool {
        let functions = ["os/signal.signal_recv", "os/signal.loop"]
        guard let thread = capture.threads.first(where: { $0.id == goroutine.thread }) else {
            return goroutine.frames.contains { functions.contains($0.symbol ?? "") }
        }
        return NamedStack(thread, in: capture).contains(functions)
    }

    private func source(_ goroutine: CapturedGoroutine) -> String {
        "goroutine \(goroutine.id): \(goroutine.state.singleLine(limit: 48))"
    }

    // MARK: - Words

    private static func title(_ goroutine: CapturedGoroutine) -> String {
        let subject =
            goroutine.count > 1
            ? "\(goroutine.count) goroutines" : goroutine.id == 1 ? "the main goroutine" : "goroutine \(goroutine.id)"
        return subject + place(goroutine)
    }

    private static func sentence(_ goroutine: CapturedGoroutine) -> String {
        let object = object(goroutine) + place(goroutine)
        return goroutine.count == 1
            ? "Goroutine \(goroutine.id) waits \(object)" : "\(goroutine.count) goroutines wait \(object)"
    }

    /// ` in main.transfer (bank.go:12)`; empty if unknown.
    private static func place(_ goroutine: CapturedGoroutine) -> String {
        own(goroutine)?.place.map { " in \($0.singleLine(limit: 96))" } ?? ""
    }

    /// The app's own function that is nearest to the wait, or else that of a package.
    private static func own(_ goroutine: CapturedGoroutine) -> Frame? {
        let calls = goroutine.frames.filter { $0.symbol != nil && $0.trust != .scan }
        let owners = calls.map { CodeOwner(compiled: $0.symbol, file: $0.sourceFile) }
        return zip(calls, owners).first { $0.1 == .app }?.0 ?? zip(calls, owners).first { $0.1 == .package }?.0
    }

    /// What it waits for, as in "waits for a sync.Mutex".
    private static func object(_ goroutine: CapturedGoroutine) -> String {
        let state = goroutine.state
        return locks[state].map { "for a \($0)" } ?? objects[state] ?? "(\(state.singleLine(limit: 48)))"
    }

    /// Waits for a lock, with its type.
    private static let locks = [
        "sync.Mutex.Lock": "sync.Mutex", "sync.RWMutex.Lock": "sync.RWMutex", "sync.RWMutex.RLock": "sync.RWMutex",
    ]

    private static let objects = [
        "sync.WaitGroup.Wait": "for a sync.WaitGroup", "sync.Cond.Wait": "for a sync.Cond",
        "sync.Once.Do": "for a sync.Once", "semacquire": "for a lock or another goroutine",
        "chan receive": "to receive from a channel", "chan send": "to send to a channel",
        "chan receive (nil chan)": "forever to receive from a nil channel",
        "chan send (nil chan)": "forever to send to a nil channel",
        "select": "in a select", "select (no cases)": "forever in a select without cases",
        "IO wait": "for a connection or a pipe", "sleep": "in time.Sleep",
    ]

    /// Whether only another goroutine can end the wait.
    private static func isForOthers(_ goroutine: CapturedGoroutine) -> Bool {
        let state = goroutine.state
        return ["sync.", "chan "].contains(where: state.hasPrefix)
            || ["semacquire", "select (no cases)"].contains(state)
    }

    /// Whether it waits for a client's connection or request.
    private static func isServing(_ goroutine: CapturedGoroutine) -> Bool {
        goroutine.state == "IO wait"
            && goroutine.frames.contains { frame in clients.contains { frame.symbol?.hasPrefix($0) == true } }
    }

    private static let clients = [
        "internal/poll.(*FD).Accept", "net/http.(*connReader).backgroundRead", "net/http.(*conn).readRequest",
    ]
}
