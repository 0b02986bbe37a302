// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What the goroutines of a Go program wait for.
///
/// Go records no owner of a lock. But if every goroutine waits for another one, none of them can release a lock.
struct GoroutineWaits {
    private let capture: CapturedProcess
    private let goroutines: CapturedGoroutines
    private let evidence: HangEvidence
    /// Of those that wait.
    private let waits: [GoroutineWait]

    /// Nil if the process has no goroutines, or if they could not be read.
    init?(in capture: CapturedProcess, _ evidence: HangEvidence) {
        guard let goroutines = capture.goroutines else { return nil }
        self.capture = capture
        self.goroutines = goroutines
        self.evidence = evidence
        let connections = GoroutineConnections(goroutines.shown, evidence)
        waits = goroutines.shown.filter { !$0.isActive }.map { GoroutineWait($0, connections) }
    }

    /// A probable deadlock, or the wait of the goroutine that runs `main` and what most others wait for; nil if that one
    /// runs, or is on the main thread, or serves and no other waits for a third.
    ///
    /// - Parameter mainThread: the thread whose stack and wait the report shows in any case.
    func finding(mainThread: Int) -> Finding? { deadlock ?? wait ?? call(besides: mainThread) }

    private var deadlock: Finding? {
        guard isStill else { return nil }
        let stuck = waits.filter { $0.lock != nil }
        let count = stuck.reduce(0) { $0 + $1.goroutine.count }
        guard count > 1 else { return nil }
        let shown = stuck.prefix(stuck.count > 3 ? 2 : 3)
        var titles = shown.map(\.title)
        let rest = count - shown.reduce(0) { $0 + $1.goroutine.count }
        if rest > 0 { titles.append("\(rest) more") }
        let last = titles.popLast() ?? ""
        let list = titles.isEmpty ? last : "\(titles.joined(separator: ", ")) and \(last)"
        let locks = Set(stuck.map(\.lock))
        let what = locks.count == 1 ? "locks (\(stuck[0].lock ?? ""))" : "locks of package sync"
        return Finding(
            kind: .goroutineDeadlock,
            text: "Probably a deadlock: \(list) wait for \(what), and no other goroutine runs",
            source: stuck[0].source, goroutine: stuck[0].goroutine.id)
    }

    private var wait: Finding? {
        guard let main = waits.first(where: { $0.goroutine.id == 1 }) else { return nil }
        if main.isForClient {
            let culprits = culprits.isEmpty ? [crowd { $0.isForGoroutine }].compactMap(\.self) : culprits
            guard let first = culprits.first else { return nil }
            let sentences = [first.sentence] + culprits.dropFirst().map { Finding.clause($0.sentence[...]) }
            return Finding(
                kind: .goroutineWait,
                text: "\(sentences.joined(separator: ", and ")), while the main goroutine waits for clients",
                source: first.source, goroutine: first.goroutine.id)
        }
        // A channel is also where workers wait for work.
        let others = culprits.filter { !(main.isForAnswer && $0.isForAnswer) }.map { Finding.clause($0.sentence[...]) }
        let isHopeless = main.lock != nil && others.isEmpty && isStill
        let rest = others.isEmpty ? "" : "; " + others.joined(separator: ", and ")
        return Finding(
            kind: .goroutineWait,
            text: "Main goroutine waits \(main.object)\(main.place)\(rest)"
                + (isHopeless ? ", and no goroutine runs that could release it" : ""),
            source: main.source, goroutine: 1)
    }

    /// The main goroutine's system call, if that is not on the main thread.
    private func call(besides mainThread: Int) -> Finding? {
        guard let main = goroutines.shown.first(where: { $0.id == 1 && $0.isActive }), main.thread != mainThread,
            let thread = capture.threads.first(where: { $0.id == main.thread }), ["S", "D"].contains(thread.state),
            let call = SystemCall.blocking(thread.syscall)?.name
        else { return nil }
        let wait = evidence.besides.first { $0.thread == thread.id && SystemCall.blocking($0.syscall)?.name == call }
        let subject = wait.flatMap { WaitText([$0]).subject }.map { " (\($0))" } ?? ""
        let own = NamedStack(thread, in: capture).origin
        return Finding(
            kind: .goroutineWait, text: "Main goroutine is in \(call)\(subject)\(own), on thread \(thread.id)",
            source: "goroutine 1: \(main.state.singleLine(limit: 48))", thread: thread.id, goroutine: 1)
    }

    /// The largest group of other goroutines that wait for another program's answer, and the largest one that waits for a
    /// lock, which one of the former may hold.
    private var culprits: [GoroutineWait] {
        [crowd(where: \.isForAnswer), crowd { $0.lock != nil }].compactMap(\.self)
    }

    /// The largest group of other goroutines of the app with such a wait.
    private func crowd(where isMeant: (GoroutineWait) -> Bool) -> GoroutineWait? {
        waits.filter { $0.goroutine.id != 1 && $0.isApps && isMeant($0) }.max {
            $0.goroutine.count < $1.goroutine.count
        }
    }

    /// Whether no goroutine runs, and none of those that wait can go on by itself.
    private var isStill: Bool {
        guard goroutines.isComplete, goroutines.activeCount <= goroutines.shown.count else { return false }
        let active = goroutines.shown.filter(\.isActive)
        let activeCount = active.reduce(0) { $0 + $1.count }
        guard activeCount == goroutines.activeCount, active.allSatisfy(isForSignals) else { return false }
        return waits.allSatisfy { $0.isForGoroutine || $0.isForClient }
    }

    /// Whether a goroutine waits for signals in a system call, as the one of package `os/signal` does.
    private func isForSignals(_ goroutine: CapturedGoroutine) -> Bool {
        let functions = ["os/signal.signal_recv", "os/signal.loop"]
        guard let thread = capture.threads.first(where: { $0.id == goroutine.thread }) else {
            return goroutine.frames.contains { functions.contains($0.symbol ?? "") }
        }
        return NamedStack(thread, in: capture).contains(functions)
    }
}
