// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What the goroutines of a Go program wait for.
///
/// Go records no owner of a lock. But if every goroutine waits for another one, none of them can release a lock.
struct GoroutineWaits {
    private let capture: CapturedProcess
    private let goroutines: CapturedGoroutines
    private let evidence: HangEvidence
    private let samples: ProcessSamples?
    /// Of those that wait.
    private let waits: [GoroutineWait]

    /// Nil if the process has no goroutines, or if they could not be read.
    init?(in capture: CapturedProcess, _ evidence: HangEvidence, _ samples: ProcessSamples? = nil) {
        guard let goroutines = capture.goroutines else { return nil }
        self.capture = capture
        self.goroutines = goroutines
        self.evidence = evidence
        self.samples = samples
        let connections = GoroutineConnections(goroutines.shown, evidence)
        waits = goroutines.shown.filter { !$0.isActive }.map { GoroutineWait($0, connections) }
    }

    /// A probable deadlock, or what the goroutine that runs `main` waits for, with what others do that it may wait for; nil if
    /// that one is on the main thread, or if it serves and no other is stuck.
    ///
    /// - Parameter mainThread: the thread whose stack and wait the report shows in any case.
    func finding(mainThread: Int) -> Finding? {
        if let deadlock { return deadlock }
        guard let main = waits.first(where: { $0.goroutine.id == 1 }) else { return active(besides: mainThread) }
        return main.isForClient ? whileServing : wait(of: main)
    }

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

    /// What others do while the main goroutine waits for clients.
    private var whileServing: Finding? {
        // Whoever waits for the process's own server is one of its clients.
        let culprits = culprits { $0.isForAnswer && !$0.isForItself }
        let idle = culprits.isEmpty ? [crowd { $0.isForGoroutine }].compactMap(\.self).map(Culprit.init) : []
        return finding(culprits + idle, while: "the main goroutine waits for clients")
    }

    private func wait(of main: GoroutineWait) -> Finding {
        let deed = "waits \(main.object)\(main.place)"
        let culprits = culprits { $0.isForAnswer && !main.isForAnswer }
        // Who computes is more likely the cause than who waits.
        if culprits.first?.thread != nil, let found = finding(culprits, while: "the main goroutine \(deed)") {
            return found
        }
        let others = culprits.map { Finding.clause($0.sentence[...]) }
        // A signal may end any wait but one for a lock.
        let isHopeless =
            others.isEmpty && isStill && (main.lock != nil || main.isForGoroutine && goroutines.activeCount == 0)
        let rest =
            isHopeless ? ["no goroutine runs that could \(main.lock == nil ? "end that" : "release it")"] : others
        return Finding(
            kind: .goroutineWait,
            text: (["Main goroutine \(deed)"] + rest).joined(separator: ", and "),
            source: main.source, goroutine: 1)
    }

    private func finding(_ culprits: [Culprit], while deed: String) -> Finding? {
        guard let first = culprits.first else { return nil }
        let sentences = [first.sentence] + culprits.dropFirst().map { Finding.clause($0.sentence[...]) }
        return Finding(
            kind: .goroutineWait, text: "\(sentences.joined(separator: ", and ")), while \(deed)", source: first.source,
            thread: first.thread, goroutine: first.goroutine)
    }

    /// What the main goroutine does on a thread other than the main thread.
    private func active(besides mainThread: Int) -> Finding? {
        guard let main = goroutines.shown.first(where: { $0.id == 1 && $0.isActive }), main.thread != mainThread,
            let culprit = culprit(main, mustBeApps: false), let thread = culprit.thread
        else { return nil }
        return Finding(
            kind: .goroutineWait, text: "\(culprit.sentence), on thread \(thread)", source: culprit.source,
            thread: thread, goroutine: 1)
    }

    // MARK: - Others

    /// What a goroutine does that others may wait for.
    private struct Culprit {
        let sentence: String
        let source: String
        let goroutine: Int
        /// The thread on which it runs; nil if it waits.
        var thread: Int?

        init(_ wait: GoroutineWait) {
            sentence = wait.sentence
            source = wait.source
            goroutine = wait.goroutine.id
        }

        init(_ goroutine: CapturedGoroutine, on thread: Int, _ deed: String) {
            sentence = "\(goroutine.id == 1 ? "Main goroutine" : "Goroutine \(goroutine.id)") \(deed)"
            source = "goroutine \(goroutine.id): \(goroutine.state.singleLine(limit: 48))"
            self.goroutine = goroutine.id
            self.thread = thread
        }
    }

    /// At most two others that may be the cause.
    ///
    /// First one that computes or is in a system call; then the largest group that waits for another program; then the largest
    /// one that waits for a lock, which one of the former may hold, or to send: a channel is also where workers wait for work.
    ///
    /// - Parameter isAnswer: whether a wait for another program counts.
    private func culprits(awaiting isAnswer: (GoroutineWait) -> Bool) -> [Culprit] {
        let active = goroutines.shown.filter { $0.id != 1 && $0.isActive }.lazy.compactMap {
            culprit($0, mustBeApps: true)
        }
        let answer = crowd { isAnswer($0) && !$0.isForItself } ?? crowd(where: isAnswer)
        let stuck = crowd { $0.lock != nil } ?? crowd { $0.goroutine.state == "chan send" }
        let waiting = [answer, stuck].compactMap(\.self).map(Culprit.init)
        return Array(([active.first].compactMap(\.self) + waiting).prefix(2))
    }

    /// What a goroutine does that is on a thread; nil if that is nothing unusual.
    private func culprit(_ goroutine: CapturedGoroutine, mustBeApps: Bool) -> Culprit? {
        guard let thread = capture.threads.first(where: { $0.id == goroutine.thread }) else { return nil }
        let place = GoroutineWait.Place(thread.frames)
        guard place.isInApp || !mustBeApps else { return nil }
        if thread.state == "R" {
            return computes(thread) ? Culprit(goroutine, on: thread.id, "computes\(place.words)") : nil
        }
        guard ["S", "D"].contains(thread.state), let call = SystemCall.blocking(thread.syscall)?.name,
            !mustBeApps || !call.hasPrefix("epoll_")
        else { return nil }
        let wait = (evidence.waits + evidence.besides).first {
            $0.thread == thread.id && SystemCall.blocking($0.syscall)?.name == call
        }
        let subject = wait.flatMap { WaitText([$0]).subject }.map { " (\($0))" } ?? ""
        return Culprit(goroutine, on: thread.id, "is in \(call)\(subject)\(place.words)")
    }

    /// Whether a thread computed for most of the time, as far as that is known.
    private func computes(_ thread: CapturedThread) -> Bool {
        guard let samples, samples.duration > .zero, let sampled = samples.threads.first(where: { $0.id == thread.id })
        else { return true }
        return samples.wanted(sampled) * 100 >= samples.duration * OtherThread.computing
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
