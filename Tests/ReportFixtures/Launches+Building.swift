// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogRecording

package func ms(_ milliseconds: Double) -> Duration { .nanoseconds(Int64((milliseconds * 1e6).rounded())) }

/// Writes a lane from left to right.
package final class LaneScript {
    /// The lane so far.
    package private(set) var lane: ThreadLane

    /// Begins a lane; times are in milliseconds from the request.
    package init(thread: Int32, process: Int32, name: String, nice: Int = 0, begin: Double = 0) {
        lane = ThreadLane(
            threadID: thread, processID: process, name: name,
            scheduling: ThreadScheduling(policy: "SCHED_OTHER", nice: nice, priority: 0, affinity: "0-1"),
            begin: ms(begin))
    }

    /// The end of the last span.
    package var now: Duration { lane.spans.last?.end ?? lane.begin }

    private func add(
        _ state: LaneSpan.State, _ length: Double, _ detail: String? = nil, _ waker: Waker? = nil,
        _ processor: Int? = nil
    ) -> LaneScript {
        let span = LaneSpan(
            state: state, begin: now, end: now + ms(length), detail: detail, waker: waker, processor: processor)
        lane.spans.append(span)
        return self
    }

    @discardableResult
    package func run(_ length: Double, on processor: Int? = 0) -> LaneScript {
        add(.running, length, nil, nil, processor)
    }
    @discardableResult
    package func preempted(_ length: Double) -> LaneScript { add(.preempted, length) }
    @discardableResult
    package func runnable(_ length: Double) -> LaneScript { add(.runnable, length) }
    @discardableResult
    package func blocked(_ length: Double, in detail: String? = nil, by waker: Waker? = nil) -> LaneScript {
        add(.blocked, length, detail, waker)
    }
    @discardableResult
    package func blockedOrRunnable(_ length: Double, in detail: String? = nil) -> LaneScript {
        add(.blockedOrRunnable, length, detail)
    }

    /// Ends the lane where its last span ends.
    package func exit() { lane.end = now }
}

extension Launches {
    /// A recording with phases that end at the given milliseconds, and the main thread's account of each.
    package static func recording(
        of path: String, _ lanes: [ThreadLane], rung: Rung, phases: [(kind: LaunchPhase.Kind, end: Double)],
        end: LaunchEnd
    ) -> LaunchRecording {
        var begin = Duration.zero
        let phases = phases.map { kind, end in
            defer { begin = ms(end) }
            return LaunchPhase(
                kind: kind, begin: begin, end: ms(end), time: lanes.first.map { account($0, begin, ms(end)) })
        }
        return LaunchRecording(
            program: LaunchedProgram(
                command: [path], executables: [path], kind: .dynamic, interpreter: "/lib64/ld-linux-x86-64.so.2",
                runtime: "glibc", buildID: "5f2c0a9b", processID: lanes.first?.processID ?? 4_711),
            host: RecordingHost(architecture: "x86_64", kernel: "6.18.5", processors: 2),
            requested: WallTime(seconds: 1_795_372_200), ladder: ladder(rung), phases: phases, end: end, lanes: lanes,
            resources: LaunchResources(user: ms(11), system: ms(3), minorFaults: 900, peakMemory: 9 << 20))
    }

    private static func account(_ lane: ThreadLane, _ begin: Duration, _ end: Duration) -> ThreadTime {
        var time = ThreadTime()
        for span in lane.spans {
            let part = max(.zero, min(span.end, end) - max(span.begin, begin))
            switch span.state {
            case .running: time.running += part
            case .preempted, .runnable: time.waiting += part
            case .blocked, .blockedOrRunnable: time.blocked += part
            }
        }
        return time
    }

    private static func ladder(_ used: Rung) -> [RungAttempt] {
        let reasons: [Rung: (String, String)] = [
            .a: ("perf_event_open: permission denied (perf_event_paranoid is 2)", "run as root"),
            .b: ("perf_event_open: permission denied (perf_event_paranoid is 3)", "set it to 2, or add CAP_PERFMON"),
            .c: ("the file changes its user ID, and would lose that under ptrace", "record it as its user"),
        ]
        return Rung.allCases.filter { $0 <= used }.map {
            RungAttempt(
                rung: $0, used: $0 == used, reason: $0 == used ? nil : reasons[$0]?.0,
                remedy: $0 == used ? nil : reasons[$0]?.1)
        }
    }

    /// Objects that were mapped one after the other.
    package static func objects(
        _ names: [String], mapped: Double, perObject: Double, relocation: Double
    ) -> [LoadedObject] {
        names.enumerated().map { index, name in
            LoadedObject(
                path: "/usr/lib/x86_64-linux-gnu/\(name)", mapped: ms(mapped + Double(index) * perObject),
                mapping: ms(perObject * Double(index + 1) / Double(names.count)),
                relocation: ms(relocation / Double(index + 1)), size: 1 << (17 + index % 6), isUsed: true)
        }
    }

    /// Many threads that work in short steps and wake each other.
    package static func crowd(threads: Int = 200, seconds: Double = 10, spansPerThread: Int = 500) -> LaunchRecording {
        var random: UInt64 = 88_172_645_463_325_252
        func next() -> Double {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Double(random % 10_000) / 10_000
        }
        let details = ["futex", "epoll_wait", "read", "recvfrom", "read, uninterruptible"]
        let step = seconds * 1_000 / Double(spansPerThread)
        let lanes = (0..<threads).map { index -> ThreadLane in
            let begin = index == 0 ? 0 : next() * seconds * 100
            let lane = LaneScript(
                thread: Int32(20_000 + index), process: 20_000, name: index == 0 ? "crowd" : "worker \(index)",
                nice: index % 10 == 9 ? 10 : 0, begin: begin)
            for _ in 0..<max(1, spansPerThread / 3) {
                let waker = Waker.thread(
                    id: Int32(20_000 + Int(next() * Double(threads))), name: "worker", nice: 0, isOwn: true)
                lane.run(next() * step, on: Int(next() * 8))
                lane.blocked(
                    next() * step * 4, in: details[Int(next() * 5)], by: next() < 0.3 ? Waker.interrupt : waker)
                lane.runnable(next() * step * 0.5)
            }
            return lane.lane
        }
        return recording(
            of: "/usr/bin/crowd", lanes, rung: .a,
            phases: [(.request, 0.4), (.exec, 0.6), (.libraryConstructors, 90), (.main, seconds * 1_000)],
            end: LaunchEnd(kind: .ready, time: ms(seconds * 1_000)))
    }
}
