// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRecording
@testable import WatchdogRendering

/// Every advice as a pair: it is given just over its threshold, and not just under it.
@Suite("Launch advice")
struct LaunchAdviceTests {
    /// A launch of one second with a main thread that is blocked for a while.
    private func launch(
        blocked time: Double, in detail: String?, by waker: Waker? = nil, length: Double = 1_000
    ) -> LaunchRecording {
        let main = LaneScript(thread: 10, process: 10, name: "app")
        main.run(1).blocked(time, in: detail, by: waker).run(length - time - 1)
        return Launches.recording(
            of: "/usr/bin/app", [main.lane], rung: .a, phases: [(.main, length)],
            end: LaunchEnd(kind: .firstFrame, time: ms(length)))
    }

    private func kinds(_ recording: LaunchRecording) -> [LaunchAdvice.Kind] {
        LaunchAdvice.all(LaunchFigures(recording)).map(\.kind)
    }

    @Test(
        "5 % of the launch in one kind of wait yields advice; less does not",
        arguments: [
            ("fsync", LaunchAdvice.Kind.files), ("fsync, uninterruptible", .files), ("newfstatat", .files),
            ("read, uninterruptible", .files), ("connect", .network), ("recvfrom", .network), ("wait4", .child),
            ("clock_nanosleep", .sleep),
        ])
    func waits(detail: String, kind: LaunchAdvice.Kind) throws {
        #expect(kinds(launch(blocked: 50, in: detail, by: .interrupt)) == [kind])
        #expect(kinds(launch(blocked: 49.4, in: detail, by: .interrupt)) == [])
        let sentence = try #require(launch(blocked: 50, in: detail).advice.first)
        #expect(sentence.contains("50 ms (5 %)"))
    }

    @Test("5 ms yields advice in a short launch; less does not, whatever its share")
    func leastTime() {
        #expect(kinds(launch(blocked: 5, in: "fsync", length: 20)) == [.files])
        #expect(kinds(launch(blocked: 4.999, in: "fsync", length: 20)) == [])
    }

    @Test(
        "A block that another thread of the program ended is a wait for that thread, whatever the call",
        arguments: [
            "recvfrom", "recvmsg", "connect", "read, uninterruptible", "mmap, uninterruptible", "futex",
        ])
    func ownThread(detail: String) throws {
        var recording = launch(blocked: 400, in: detail, by: .thread(id: 11, name: "loader", nice: 0, isOwn: true))
        recording.lanes.append(LaneScript(thread: 11, process: 10, name: "loader").run(399).lane)
        #expect(kinds(recording) == [.ownThread])
        let sentence = try #require(recording.advice.first)
        #expect(sentence.contains("waited 400 ms (40 %) for 11 \"loader\", which meanwhile ran 398 ms"))
    }

    @Test("A socket counts as network only if a packet shows it")
    func sockets() throws {
        let server = Waker.thread(id: 99, name: "server", nice: 0, isOwn: false)
        for (detail, waker, kind) in [
            ("recvfrom", nil, LaunchAdvice.Kind.sockets), ("recvfrom", server, .sockets), ("connect", server, .sockets),
            ("recvfrom", .interrupt, .network),
        ] as [(String, Waker?, LaunchAdvice.Kind)] {
            let recording = launch(blocked: 50, in: detail, by: waker)
            #expect(kinds(recording) == [kind])
            #expect(try #require(recording.advice.first).contains("network") == (kind == .network))
        }
        #expect(kinds(launch(blocked: 49.4, in: "recvfrom")) == [])
    }

    @Test("Waits in an event loop, for a pipe, or for a lock without a known waker yield no advice")
    func innocentWaits() {
        for detail in [
            "epoll_wait", "read", "futex", "poll", "mmap, uninterruptible", "uninterruptible",
            "stopped by the recorder", nil,
        ] {
            #expect(kinds(launch(blocked: 900, in: detail, by: .interrupt)) == [])
        }
        let stranger = Waker.thread(id: 99, name: "server", nice: 19, isOwn: false)
        #expect(kinds(launch(blocked: 900, in: "futex", by: stranger)) == [])
    }

    @Test("A wait after the end of the launch does not count")
    func afterTheEnd() {
        var recording = launch(blocked: 900, in: "fsync")
        recording.end.time = ms(40)
        #expect(kinds(recording) == [.files])
        recording.end.time = ms(1)
        #expect(kinds(recording) == [])
    }

    @Test("A wait for a thread of lower priority is an inversion; for an equal or higher one it is not")
    func inversion() {
        func kind(nice: Int?, _ waker: ThreadScheduling? = nil, main: ThreadScheduling? = nil) -> [LaunchAdvice.Kind] {
            var recording = launch(
                blocked: 400, in: "futex", by: .thread(id: 11, name: "loader", nice: nice, isOwn: true))
            if let main { recording.lanes[0].scheduling = main }
            var lane = ThreadLane(threadID: 11, processID: 10, name: "loader", begin: .zero)
            lane.scheduling = waker
            recording.lanes.append(lane)
            return kinds(recording)
        }
        #expect(kind(nice: 1) == [.inversion])
        #expect(kind(nice: 0) == [.ownThread])
        #expect(kind(nice: -1) == [.ownThread])
        #expect(kind(nice: nil) == [.ownThread])
        func policy(_ name: String, _ priority: Int = 0) -> ThreadScheduling {
            ThreadScheduling(policy: name, nice: 0, priority: priority, affinity: "0-1")
        }
        #expect(kind(nice: 0, policy("SCHED_IDLE")) == [.inversion])
        #expect(kind(nice: 0, policy("SCHED_FIFO", 1)) == [.ownThread])
        #expect(kind(nice: 0, policy("SCHED_FIFO", 1), main: policy("SCHED_FIFO", 2)) == [.inversion])
        #expect(kind(nice: 0, policy("SCHED_FIFO", 2), main: policy("SCHED_FIFO", 2)) == [.ownThread])
        #expect(kind(nice: 0, policy("SCHED_OTHER"), main: policy("SCHED_RR", 1)) == [.inversion])
    }

    /// A launch of one second with 400 ms of library constructors and, if they were timed, their times in milliseconds.
    private func launch(constructors: [(name: String?, wall: Double, waiting: Double)]?, isOwn: Bool) -> LaunchRecording
    {
        let main = LaneScript(thread: 10, process: 10, name: "app").run(1_000).lane
        var recording = Launches.recording(
            of: "/usr/bin/app", [main], rung: .a,
            phases: [(.request, 100), (isOwn ? .ownConstructors : .libraryConstructors, 500), (.main, 1_000)],
            end: LaunchEnd(kind: .firstFrame, time: ms(1_000)))
        var begin = 100.0
        recording.constructors = constructors?.map { name, wall, waiting in
            defer { begin += wall }
            return LaunchConstructor(
                object: isOwn ? "/usr/bin/app" : "/lib/lib\(name ?? "x").so", function: name, offset: 0x1139,
                isOwn: isOwn,
                begin: ms(begin), end: ms(begin + wall),
                time: ThreadTime(running: ms(wall - waiting), waiting: ms(waiting)))
        }
        return recording
    }

    @Test("A constructor that took most of the time is named, with the rest if that matters")
    func constructor() {
        #expect(
            launch(constructors: [("log", 375, 0), ("b", 25, 0)], isOwn: false).advice == [
                "The constructor log of liblog.so took 375 ms (38 %) before main; all constructors of libraries ran 400 "
                    + "ms: do that work at the first use, or do without the library."
            ])
        #expect(
            launch(constructors: [("globals", 398, 0)], isOwn: true).advice == [
                "The constructor globals of app took 398 ms (40 %) before main: create globals when they are first used."
            ])
        #expect(
            launch(constructors: [(nil, 398, 0)], isOwn: false).advice.first?
                .hasPrefix("The constructor 0x1139 of libx.so took 398 ms") == true)
    }

    @Test("Without one that took most of it, the slowest are named; without times, none is")
    func constructors() {
        #expect(
            launch(constructors: [("a", 90, 0), ("b", 150, 70), ("c", 5, 0), ("d", 4.9, 0)], isOwn: false).advice == [
                "Constructors of libraries ran 400 ms (40 %) before main, most in a of liba.so (90 ms), b of libb.so (80 "
                    + "ms), c of libc.so (5.00 ms): do that work at the first use, or do without the library."
            ])
        for constructors in [nil, []] as [[(String?, Double, Double)]?] {
            #expect(
                launch(constructors: constructors, isOwn: true).advice == [
                    "The program's own constructors ran 400 ms (40 %) before main: create globals when they are first "
                        + "used."
                ])
        }
    }

    @Test("More than 10 % of waiting for a CPU is a warning; 10 % is not")
    func contention() throws {
        func launch(waiting: Double) -> LaunchRecording {
            let main = LaneScript(thread: 10, process: 10, name: "app")
            main.run(100).preempted(waiting / 2).run(10).preempted(waiting / 2).run(890 - waiting)
            return Launches.recording(
                of: "/usr/bin/app", [main.lane], rung: .a, phases: [(.main, 1_000)],
                end: LaunchEnd(kind: .firstFrame, time: ms(1_000)))
        }
        let over = LaunchFigures(launch(waiting: 101))
        #expect(LaunchAdvice.warning(over)?.hasPrefix("Warning: the program waited 10 % of the time for a CPU") == true)
        #expect(kinds(over.recording) == [.contention])
        let under = LaunchFigures(launch(waiting: 100))
        #expect(LaunchAdvice.warning(under) == nil)
        #expect(kinds(under.recording) == [])
        #expect(try #require(over.recording.advice.first).contains("other programs had the CPUs"))

        var crowded = launch(waiting: 310)
        let worker = LaneScript(thread: 11, process: 10, name: "worker")
        worker.run(800)
        crowded.lanes.append(worker.lane)
        #expect(
            try #require(crowded.advice.first).contains("310 ms (31 %) for a CPU; for 310 ms of that, its own threads"))
        #expect(LaunchAdvice.warning(LaunchFigures(crowded))?.contains("31 %") == true)
    }

    @Test("Constructors, linking, late files and own constructors count from 5 % on")
    func loading() {
        func kinds(_ kind: LaunchPhase.Kind, _ time: Double) -> [LaunchAdvice.Kind] {
            let recording = Launches.recording(
                of: "/usr/bin/app", [], rung: .b, phases: [(kind, time), (.main, 1_000)],
                end: LaunchEnd(kind: .firstFrame, time: ms(1_000)))
            return self.kinds(recording)
        }
        for (phase, advice) in [
            (LaunchPhase.Kind.libraryConstructors, LaunchAdvice.Kind.libraryConstructors),
            (.ownConstructors, .ownConstructors), (.mapping, .linking), (.relocation, .linking),
        ] {
            #expect(kinds(phase, 50) == [advice])
            #expect(kinds(phase, 49.4) == [])
        }
    }

    @Test("A phase's wait for a CPU does not count against it")
    func crowdedPhase() throws {
        func recording(waiting: Double) -> LaunchRecording {
            var recording = Launches.recording(
                of: "/usr/bin/app", [], rung: .b, phases: [(.ownConstructors, 100), (.main, 1_000)],
                end: LaunchEnd(kind: .firstFrame, time: ms(1_000)))
            recording.phases[0].time = ThreadTime(running: ms(100 - waiting), waiting: ms(waiting))
            return recording
        }
        #expect(kinds(recording(waiting: 50)) == [.ownConstructors])
        #expect(try #require(recording(waiting: 50).advice.first).contains("ran 50 ms (5 %) before main"))
        #expect(kinds(recording(waiting: 50.6)) == [])
    }

    @Test("A phase's duration excludes the recorder's stops")
    func stoppedPhase() {
        func recording(stopped: Double) -> LaunchRecording {
            var recording = Launches.recording(
                of: "/usr/bin/app", [], rung: .b, phases: [(.request, 60), (.main, 1_000)],
                end: LaunchEnd(kind: .firstFrame, time: ms(1_000)))
            recording.program.executables = ["/bin/sh", "/usr/bin/app"]
            recording.phases[0].stopped = ms(stopped)
            return recording
        }
        #expect(kinds(recording(stopped: 10)) == [.wrappers])
        #expect(kinds(recording(stopped: 10.6)) == [])
    }

    @Test("Wrappers count from 5 % on, and their waits do not count twice")
    func wrappers() throws {
        func recording(_ time: Double, wrappers: [String] = ["/usr/bin/env", "/bin/sh"]) -> LaunchRecording {
            let main = LaneScript(thread: 10, process: 10, name: "app")
            main.blocked(time, in: "wait4").run(1_000 - time)
            var recording = Launches.recording(
                of: "/usr/bin/app", [main.lane], rung: .a, phases: [(.request, time), (.main, 1_000)],
                end: LaunchEnd(kind: .firstFrame, time: ms(1_000)))
            recording.program.executables = wrappers + ["/usr/bin/app"]
            return recording
        }
        #expect(kinds(recording(50)) == [.wrappers])
        #expect(kinds(recording(49.4)) == [])
        #expect(kinds(recording(50, wrappers: [])) == [])
        #expect(
            recording(50).advice == [
                "50 ms (5 %) passed before app was executed, through 2 files, the first of them /usr/bin/env: start it directly."
            ])
    }

    @Test("A wait that another process of the program ends is a wait for a child")
    func children() {
        var recording = launch(blocked: 50, in: "read", by: .thread(id: 20, name: "sh", nice: 19, isOwn: true))
        recording.lanes.append(ThreadLane(threadID: 20, processID: 20, name: "sh", begin: .zero))
        #expect(kinds(recording) == [.child])
        recording.lanes[0].spans[1].detail = "recvfrom"
        #expect(kinds(recording) == [.child])
    }

    @Test("A library counts as unused only with enough samples, and only if it cost enough")
    func unusedLibraries() {
        func kinds(cost: Double, samples: Int, isUsed: Bool? = false) -> [LaunchAdvice.Kind] {
            var recording = launch(blocked: 1, in: nil)
            recording.samples = SampledCalls(interval: .microseconds(1), count: samples, roots: [])
            recording.objects = [
                LoadedObject(path: "/lib/libunused.so", mapped: ms(1), relocation: ms(cost), isUsed: isUsed)
            ]
            return self.kinds(recording)
        }
        #expect(kinds(cost: 50, samples: 100) == [.unusedLibraries])
        #expect(kinds(cost: 49.4, samples: 100) == [])
        #expect(kinds(cost: 50, samples: 99) == [])
        #expect(kinds(cost: 50, samples: 100, isUsed: true) == [])
        #expect(kinds(cost: 50, samples: 100, isUsed: nil) == [])
    }

    @Test("Own work is named if it is in a quarter of the samples")
    func work() throws {
        func recording(_ count: Int) -> LaunchRecording {
            var recording = launch(blocked: 1, in: nil)
            recording.samples = SampledCalls(
                interval: .milliseconds(1), count: 400,
                roots: [.init(function: "main", count: 400, callees: [.init(function: "parse()", count: count)])])
            return recording
        }
        #expect(kinds(recording(100)) == [.work])
        #expect(kinds(recording(99)) == [])
        for nameless in ["?", ""] {
            var unknown = recording(100)
            unknown.samples?.roots[0].callees[0].function = nameless
            #expect(kinds(unknown) == [])
        }
        #expect(try #require(recording(100).advice.first).hasPrefix("parse() is in 100 of 400 samples"))
    }

    @Test("The four causes of the star story are all named, the longest first")
    func starSearcher() {
        #expect(kinds(Launches.starSearcher) == [.inversion, .work, .libraryConstructors, .files])
    }
}
