// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The descendants of the main process, of which some may be stuck.
public struct Descendants: Sendable {
    /// The ID of the main process.
    let main: Int
    private let members: [OtherProcess]
    private let childrenByParent: [Int: [Int]]

    /// The maximum number of stuck processes to describe.
    private static let described = 3

    /// Creates a tree from the app's processes other than the main one, of which only its descendants are used.
    ///
    /// - Parameters:
    ///   - main: the ID of the main process.
    ///   - others: the app's other processes, each once.
    public init(main: Int, others: [OtherProcess]) {
        self.main = main
        var children: [Int: [Int]] = [:]
        for process in others where process.pid != main { children[process.parentPID, default: []].append(process.pid) }
        childrenByParent = children
        let below = Self.reach(from: main) { children[$0] ?? [] }
        members = others.filter { below.contains($0.pid) && !"ZX".contains($0.state) }
    }

    func children(of process: Int) -> [Int] { childrenByParent[process] ?? [] }

    func descendants(of process: Int) -> Set<Int> { Self.reach(from: process, along: children) }

    /// The nodes reachable from a process, without itself; the graph may have cycles.
    private static func reach(from process: Int, along edges: (Int) -> [Int]) -> Set<Int> {
        var reached: Set<Int> = []
        var pending = edges(process)
        while let next = pending.popLast() {
            if reached.insert(next).inserted { pending += edges(next) }
        }
        return reached.subtracting([process])
    }

    /// The finding about processes that are stuck while the main thread only waits; nil without one, or if the cause is
    /// ambiguous.
    ///
    /// - Parameters:
    ///   - tail: the end of the main thread's wait chain within its process.
    ///   - isAlone: whether the main process has no other thread.
    ///   - hasReturned: whether the main thread has left its wait and entered it again.
    func finding(_ tail: WaitTail, isAlone: Bool, hasReturned: Bool, _ evidence: HangEvidence) -> Finding? {
        let latest = tail.isMain ? evidence.syscall : tail.wait?.syscall
        guard !members.isEmpty, let call = SystemCall.blocking(latest)?.name ?? tail.stack.syscall,
            let wait = EventWait(
                call, tail.wait, isLoop: tail.isIdle,
                isForChild: tail.findings.contains { $0.kind == .childProcess }, isForProcesses: tail.isForProcesses,
                isForThreads: tail.unowned != nil,
                hasReturned: hasReturned && tail.isMain, isAlone: isAlone, descendants: descendants(of: main))
        else { return nil }
        let scope = Set(wait.processes.isEmpty ? children(of: main) : wait.processes)
        let causes = Causes(
            members.map { ($0.pid, ProcessDeed($0, in: self, evidence)) },
            below: scope.reduce(into: scope) { $0.formUnion(descendants(of: $1)) })
        // If the main process has work of its own, in its loop or its threads, a sleeping helper is not the cause.
        let hasWork =
            [.loop, .pauses, .threads, .nobody].contains(wait.reason) || wait.reason == .signals && !isAlone
        let isDecided = !causes.stuck.isEmpty || hasWork
        let named = isDecided ? causes.stuck : causes.onlySleeper.map { [$0] } ?? []
        guard let first = named.first else { return nil }
        let words = members.compactMap { process -> String? in
            guard named.contains(process.pid), let deed = causes.deeds[process.pid] else { return nil }
            return "\(title(process)) \(deed.words)"
        }
        let rest = words.count > Self.described ? [", and \(words.count - Self.described) more"] : []
        let all = words.prefix(Self.described).joined(separator: ", ") + rest.joined()
        let many = causes.dependents(on: first)
        // The main process waits for the one that waits for it.
        let isMutual = named.count == 1 && causes.deeds[first]?.leadsTo == [main]
        let circle = isMutual ? ": each waits for the other" : ""
        let queue = named.count == 1 && many > 0 ? "; \(many) more wait\(many == 1 ? "s" : "") for it" : ""
        return Finding(
            kind: .otherProcess,
            text: (named.count == 1 ? "Process \(all)" : "\(named.count) processes are stuck: \(all)")
                + ", while the main thread \(tail.meanwhile(wait.words))\(circle)\(queue)",
            source: "/proc/\(named.count == 1 ? String(first) : "PID")/stat field 3 and /proc/PID/syscall",
            processes: named)
    }

    /// `4244 "cat", a child of 4243 "sh",`.
    private func title(_ process: OtherProcess) -> String {
        let title = "\(process.pid) \"\(process.name.singleLine(limit: 32))\""
        guard let parent = members.first(where: { $0.pid == process.parentPID }) else { return title }
        return "\(title), a child of \(parent.pid) \"\(parent.name.singleLine(limit: 32))\","
    }
}

extension Descendants {
    /// The stuck processes that do not wait for another process of the app.
    private struct Causes {
        let deeds: [Int: ProcessDeed]
        /// The processes that are stuck, or that sleep while others wait for them.
        let stuck: [Int]
        /// The only other sleeping process; a timed sleep counts only if all others wait for the process.
        let onlySleeper: Int?
        private let halted: Set<Int>
        private let reached: [Int: Set<Int>]

        /// - Parameter scope: the possible causes, with the processes for which they wait.
        init(_ members: [(Int, ProcessDeed)], below scope: Set<Int>) {
            let deeds = Dictionary(members) { first, _ in first }
            let reached = deeds.keys.reduce(into: [Int: Set<Int>]()) { reached, process in
                let edges = Descendants.reach(from: process) { deeds[$0]?.leadsTo ?? [] }
                reached[process] = edges.filter { deeds[$0] != nil }
            }
            var halted = Set(deeds.filter { $0.value.strength > .waits }.keys)
            // A process that waits for a healthy process is healthy, too.
            while true {
                let idle = halted.filter { process in
                    guard deeds[process]?.yields == true, let others = reached[process], !others.isEmpty else {
                        return false
                    }
                    return others.isDisjoint(with: halted)
                }
                if idle.isEmpty { break }
                halted.subtract(idle)
            }
            let causes = halted.filter { process in
                !(reached[process] ?? []).contains { halted.contains($0) && reached[$0]?.contains(process) != true }
            }
            let visible = scope.reduce(into: scope) { $0.formUnion(reached[$1] ?? []) }
            let ordered = members.map(\.0).filter { causes.contains($0) && visible.contains($0) }
            let isDecided = { (process: Int) in
                halted.contains {
                    deeds[$0]?.strength == .isStuck && ($0 == process || reached[$0]?.contains(process) == true)
                }
            }
            self.deeds = deeds
            self.reached = reached
            self.halted = halted
            stuck = ordered.filter(isDecided)
            let sleepers = ordered.filter { !isDecided($0) }
            let others = deeds.keys.filter { visible.contains($0) && $0 != sleepers.first }
            onlySleeper = sleepers.first.flatMap { sleeper in
                let isAwaited =
                    deeds[sleeper]?.strength != .pauses
                    || others.allSatisfy { reached[$0]?.contains(sleeper) == true }
                return sleepers.count == 1 && isAwaited ? sleeper : nil
            }
        }

        /// The number of processes that are stuck because of a process.
        func dependents(on process: Int) -> Int {
            halted.count { $0 != process && reached[$0]?.contains(process) == true }
        }
    }
}

extension Verdict {
    /// Whether the main thread slept for so long that another process may be the cause.
    package var mayWaitForOthers: Bool {
        guard kind == .partlyRunning else { return kind == .blocked }
        guard let runningTenths, let waitingTenths else { return false }
        return 1_000 - runningTenths - waitingTenths >= VerdictThresholds.asleep
    }

    /// Adds a finding to the line: one about stuck processes, unless the line already names them, or one about a thread
    /// that does not sleep.
    package mutating func add(_ finding: Finding) {
        guard mayWaitForOthers, let shares = line.ranges(of: " · ").last else { return }
        switch finding.kind {
        case .otherProcess:
            guard let processes = finding.processes, !processes.allSatisfy({ line.contains(" \($0) \"") }) else {
                return
            }
        case .otherThread where !finding.isAsleep: break
        default: return
        }
        let clause = finding.text.firstRange(of: ", while the main thread ").map { finding.text[..<$0.lowerBound] }
        let words = clause ?? finding.text[...]
        let text = Finding.clause(words).singleLine(limit: Self.longestClause)
        line.insert(contentsOf: "; \(text)", at: shares.lowerBound)
    }

    /// The maximum length in the verdict; a longer text appears only in the finding.
    private static let longestClause = 200
}
