// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

extension LaunchAdvice {
    /// What the main thread waited for.
    static func waits(_ figures: LaunchFigures) -> [LaunchAdvice] {
        guard let main = figures.main else { return [contention(figures)].compactMap(\.self) }
        // Before the program itself is executed, its wrappers wait.
        let begin = figures.recording.phases.first { $0.kind == .request }?.end ?? .zero
        // Whatever the call, a block that a thread of the program ended is a wait for that thread.
        var threads: [Int32: [LaneSpan]] = [:]
        var children: [LaneSpan] = []
        var blocks: [LaneSpan] = []
        for block in figures.blocks(of: main) where block.begin >= begin {
            if BlockPlace(block) == .child || isChild(block.waker, main, figures) {
                children.append(block)
            } else if case .thread(let id, _, _, true) = block.waker, id != main.threadID {
                threads[id, default: []].append(block)
            } else {
                blocks.append(block)
            }
        }
        var advice = [contention(figures), files(blocks, figures), network(blocks, figures), sockets(blocks, figures)]
            .compactMap(\.self)
        advice += own(threads, main, figures)
        let sleeping = total(blocks.filter { BlockPlace($0) == .timer })
        if matters(sleeping, figures) {
            advice.append(
                LaunchAdvice(
                    kind: .sleep, time: sleeping,
                    sentence:
                        "The main thread slept \(share(sleeping, figures)): wait for the event itself, not for time to "
                        + "pass."))
        }
        let waiting = total(children)
        if matters(waiting, figures) {
            advice.append(
                LaunchAdvice(
                    kind: .child, time: waiting,
                    sentence:
                        "The main thread waited \(share(waiting, figures)) for other processes that it had "
                        + "started: start them without waiting, or do their work in the program."))
        }
        return advice
    }

    /// Whether a thread of another of the program's processes ended a wait.
    private static func isChild(_ waker: Waker?, _ main: ThreadLane, _ figures: LaunchFigures) -> Bool {
        figures.lane(of: waker).map { $0.processID != main.processID } ?? false
    }

    private static func total(_ blocks: [LaneSpan]) -> Duration { blocks.reduce(.zero) { $0 + $1.wall } }

    private static func contention(_ figures: LaunchFigures) -> LaunchAdvice? {
        guard let time = figures.mainTime?.waiting, LaunchFigures.tenths(time, of: figures.length) > mostWaiting else {
            return nil
        }
        let own = figures.main.map { ownWork(while: $0, figures) } ?? .zero
        let remedy =
            own * 2 > time
            ? "for \(own.brief) of that, its own threads ran: start fewer of them before \(figures.recording.end.moment), "
                + "or give them a higher nice value"
            : (figures.main == nil ? "other threads" : "other programs")
                + " had the CPUs: record again on a quiet machine"
        return LaunchAdvice(
            kind: .contention, time: time,
            sentence: "The main thread waited \(share(time, figures)) for a CPU; \(remedy).")
    }

    /// How long other threads of the program ran while the main thread waited for a CPU, at most that time.
    private static func ownWork(while main: ThreadLane, _ figures: LaunchFigures) -> Duration {
        let waits = main.spans.filter { ($0.state == .preempted || $0.state == .runnable) && $0.begin < figures.length }
        var sum = Duration.zero
        for lane in figures.recording.lanes where lane.threadID != main.threadID {
            var next = 0
            for span in lane.spans where span.state == .running {
                while next < waits.count, waits[next].end <= span.begin { next += 1 }
                var index = next
                while index < waits.count, waits[index].begin < span.end {
                    sum += max(.zero, min(span.end, waits[index].end) - max(span.begin, waits[index].begin))
                    index += 1
                }
            }
        }
        return min(sum, total(waits))
    }

    private static func files(_ blocks: [LaneSpan], _ figures: LaunchFigures) -> LaunchAdvice? {
        let blocks = blocks.filter { BlockPlace($0) == .files }
        let time = total(blocks)
        guard matters(time, figures) else { return nil }
        return LaunchAdvice(
            kind: .files, time: time,
            sentence: "The main thread was blocked \(share(time, figures)) in files before "
                + "\(figures.recording.end.moment), most in \(places(blocks)): read and write them on another thread, or later."
        )
    }

    private static func network(_ blocks: [LaneSpan], _ figures: LaunchFigures) -> LaunchAdvice? {
        let blocks = blocks.filter { BlockPlace($0) == .network }
        let time = total(blocks)
        guard matters(time, figures) else { return nil }
        return LaunchAdvice(
            kind: .network, time: time,
            sentence: "The main thread was blocked \(share(time, figures)) in the network before "
                + "\(figures.recording.end.moment), most in \(places(blocks)): ask the network asynchronously, and show what is "
                + "there.")
    }

    /// Sockets that do not demonstrably lead to the network.
    private static func sockets(_ blocks: [LaneSpan], _ figures: LaunchFigures) -> LaunchAdvice? {
        let blocks = blocks.filter { BlockPlace($0) == .socket }
        let time = total(blocks)
        guard matters(time, figures) else { return nil }
        return LaunchAdvice(
            kind: .sockets, time: time,
            sentence: "The main thread was blocked \(share(time, figures)) on sockets before "
                + "\(figures.recording.end.moment), most in \(places(blocks)): ask the other end asynchronously, and show "
                + "what is there.")
    }

    /// The two places with the longest times.
    private static func places(_ blocks: [LaneSpan]) -> String {
        var times: [String: Duration] = [:]
        for block in blocks { times[block.detail ?? "", default: .zero] += block.wall }
        let most = times.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(2)
        return most.map { "\($0.key.singleLine(limit: 100)) (\($0.value.brief))" }.joined(separator: " and ")
    }

    /// Waits for other threads of the program, by the thread that ended them.
    private static func own(
        _ threads: [Int32: [LaneSpan]], _ main: ThreadLane, _ figures: LaunchFigures
    ) -> [LaunchAdvice] {
        threads.sorted { $0.key < $1.key }.compactMap { _, blocks in
            let time = total(blocks)
            guard matters(time, figures), let waker = blocks[0].waker else { return nil }
            let account = blocks.reduce(into: LaneAccount()) { sum, block in
                guard let lane = figures.lane(of: waker) else { return }
                let part = LaunchFigures.account(of: lane, from: block.begin, to: block.end)
                for state in LaneSpan.State.allCases { sum[state] += part[state] }
            }
            let meanwhile = account.total > .zero ? ", which meanwhile \(account.words)" : ""
            let wait = "The main thread waited \(share(time, figures)) for \(waker.words)\(meanwhile)"
            guard !isLower(waker, figures.lane(of: waker)?.scheduling, than: main.scheduling) else {
                return LaunchAdvice(
                    kind: .inversion, time: time,
                    sentence:
                        "\(wait): a wait for a thread of lower priority. Give it the main thread's priority, or do not "
                        + "wait for it.")
            }
            return LaunchAdvice(
                kind: .ownThread, time: time,
                sentence:
                    "\(wait): do not wait for its result before \(figures.recording.end.moment), or split its work.")
        }
    }

    /// Whether the kernel prefers the second thread.
    static func isLower(_ waker: Waker, _ own: ThreadScheduling?, than main: ThreadScheduling?) -> Bool {
        guard case .thread(_, _, let nice, _) = waker else { return false }
        if own?.policy == "SCHED_IDLE", main?.policy != "SCHED_IDLE" { return true }
        if own?.isRealTime == true { return main?.isRealTime == true && (own?.priority ?? 0) < (main?.priority ?? 0) }
        if main?.isRealTime == true { return true }
        return (nice ?? own?.nice ?? 0) > (main?.nice ?? 0)
    }
}

extension ThreadScheduling {
    fileprivate var isRealTime: Bool { ["SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"].contains(policy) }
}
