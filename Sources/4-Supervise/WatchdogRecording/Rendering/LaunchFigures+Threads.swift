// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// Blocks of one thread in the same place, ended by the same party.
struct BlockGroup {
    let longest: LaneSpan
    let total: Duration
    let count: Int

    /// Groups blocks, the longest group first.
    static func grouping(_ blocks: [LaneSpan]) -> [BlockGroup] {
        struct Key: Hashable {
            let detail: String?
            let waker: String?
        }
        var groups: [Key: BlockGroup] = [:]
        for span in blocks {
            let key = Key(detail: span.detail, waker: span.waker?.words)
            let group = groups[key]
            let longest = group.map { $0.longest.wall >= span.wall ? $0.longest : span } ?? span
            groups[key] = BlockGroup(
                longest: longest, total: (group?.total ?? .zero) + span.wall, count: (group?.count ?? 0) + 1)
        }
        return groups.values.sorted { ($1.total, $0.longest.begin) < ($0.total, $1.longest.begin) }
    }

    /// `blocked 754 ms in futex, woken by 12253 "star loader" (nice 19)`.
    var words: String {
        var span = longest
        guard count > 1 else { return "\(span.words), at \(span.begin.brief)" }
        let most = longest.wall.brief
        span.end = span.begin + total
        return "\(span.words), \(count) times, \(most) at most"
    }
}

extension LaunchFigures {
    /// What is drawn of the lanes: the main thread's first, then by the time on a CPU.
    var lanesByWeight: [(lane: ThreadLane, account: LaneAccount)] {
        let end = drawnLength
        let weighed = drawnLanes.map { lane -> (lane: ThreadLane, account: LaneAccount) in
            guard lane.spans.isEmpty, let counted = lane.accounting else {
                return (lane, Self.account(of: lane, to: end))
            }
            var account = LaneAccount()
            account[.running] = counted.running
            account[.runnable] = counted.waiting
            account[.blocked] = counted.blocked
            return (lane, account)
        }
        func weight(_ row: (lane: ThreadLane, account: LaneAccount)) -> Duration {
            row.lane.threadID == mainThread?.threadID ? end * 2 : row.account[.running]
        }
        return weighed.sorted { (weight($1), $0.lane.threadID) < (weight($0), $1.lane.threadID) }
    }

    /// A thread's name; `main` for the one that ran it.
    func name(of lane: ThreadLane) -> String { lane.threadID == mainThread?.threadID ? "main" : lane.name }

    /// What the thread that ended a block did meanwhile; nil if it is not the program's.
    func accountOfWaker(during block: LaneSpan) -> String? {
        guard let lane = lane(of: block.waker), lane.threadID != main?.threadID else { return nil }
        let account = Self.account(of: lane, from: block.begin, to: block.end)
        return account.total > .zero ? "meanwhile \(lane.threadID) \(account.words)" : nil
    }

    /// Files by what the launch spent on them, the most expensive first.
    var objectsByCost: [LoadedObject] {
        recording.objects.sorted { ($1.cost, $0.mapped) < ($0.cost, $1.mapped) }
    }

    /// Threads that are scheduled otherwise than the main thread, grouped by the difference.
    var unusualScheduling: [(difference: String, threads: [ThreadLane])] {
        guard let usual = mainThread?.scheduling else { return [] }
        var groups: [(difference: String, threads: [ThreadLane])] = []
        for lane in recording.lanes {
            guard let difference = lane.scheduling?.difference(from: usual) else { continue }
            if let index = groups.firstIndex(where: { $0.difference == difference }) {
                groups[index].threads.append(lane)
            } else if groups.count < 64 {
                groups.append((difference, [lane]))
            }
        }
        return groups
    }
}

extension ThreadScheduling {
    /// `SCHED_OTHER, nice 0, CPUs 0-1`.
    var words: String {
        let rank = priority != 0 ? "priority \(priority)" : "nice \(nice)"
        return "\(policy.singleLine(limit: 32)), \(rank), CPUs \(affinity.singleLine(limit: 64))"
    }

    /// What is different, as in `nice 19, CPUs 0`; nil if nothing is.
    func difference(from other: ThreadScheduling) -> String? {
        var parts: [String] = []
        if policy != other.policy { parts.append(policy.singleLine(limit: 32)) }
        if priority != other.priority { parts.append("priority \(priority)") }
        if nice != other.nice { parts.append("nice \(nice)") }
        if affinity != other.affinity { parts.append("CPUs \(affinity.singleLine(limit: 64))") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension SampledCalls {
    /// From the outermost call, always the callee with the most samples, while that has a tenth of all.
    var heaviestPath: [Call] {
        var path: [Call] = []
        var calls = roots
        while path.count < 64, let call = calls.max(by: { $0.count < $1.count }), tenths(of: call) >= 100 {
            path.append(call)
            calls = call.callees
        }
        return path
    }

    /// How many samples were taken in each function itself, the most first; without those whose name is unknown.
    var functions: [Call] {
        struct Function: Hashable {
            let name: String
            let object: String?
        }
        var counts: [Function: Int] = [:]
        var pending = roots
        while let call = pending.popLast() {
            pending += call.callees
            let own = call.callees.reduce(call.count) { $0.subtractingReportingOverflow(max(0, $1.count)).partialValue }
            guard own > 0, call.hasName else { continue }
            counts[Function(name: call.function, object: call.object), default: 0] &+= own
        }
        return counts.map { Call(function: $0.name, object: $0.object, count: $1) }
            .sorted { ($1.count, $0.function, $0.object ?? "") < ($0.count, $1.function, $1.object ?? "") }
    }

    /// The share of samples that have the call on their stacks, in thousandths.
    func tenths(of call: Call) -> Int {
        guard count > 0 else { return 0 }
        return Int((min(max(Double(call.count) / Double(count), 0), 1) * 1_000).rounded())
    }
}

extension LaunchRecording {
    /// The heaviest path of a phase, for people.
    struct PhasePath: Equatable {
        let title: String
        /// The number of samples in the phase.
        let count: Int
        /// The calls, outermost first; those in the program's own file begin with an asterisk.
        let calls: [String]
    }

    /// The paths of the phases with a twentieth of all samples, from the program's own code on, as far as it is there.
    var phasePaths: [PhasePath] {
        let all = samples?.count ?? 0
        let own = program.executables.last
        return phases.compactMap { phase in
            guard let samples = phase.samples, samples.count > 0, samples.count >= all / 20 else { return nil }
            let path = samples.heaviestPath
            let first = path.firstIndex { $0.object == own && $0.hasName } ?? max(0, path.count - 4)
            let calls = path[first...].prefix(6).map { ($0.object == own ? "*" : "") + $0.function }
            return calls.isEmpty ? nil : PhasePath(title: phase.kind.title, count: samples.count, calls: calls)
        }
    }
}

extension SampledCalls.Call {
    /// Whether the function is known, not its file alone.
    var hasName: Bool {
        !function.isEmpty && function != "?" && function != object.map(LaunchFigures.fileName)
    }
}
