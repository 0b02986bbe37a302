// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogRecording

@Suite("Decoding records into a recording")
struct LaunchDecoderTests {
    private static let libc = "/lib/libc.so.6"
    private static let libz = "/lib/libz.so.1"

    /// A program that maps libz and libc, and exits 1 ms after its request; times are µs.
    private func records() -> RawRecords {
        var records = RawRecords()
        // Rings are read one after the other: the task's own comes last, and here its breakpoints come first.
        for (time, event) in [(100, 11), (150, 12), (500, 12), (600, 13), (620, 14)] {
            records.hit(micro(time), event: UInt64(event))
        }
        records.execute(micro(50), "app")
        records.map(micro(51), "/bin/app", at: 0x40_0000, length: 0x1000, protection: 5)
        records.map(micro(160), Self.libz, at: 0x10_0000, length: 0x3000, protection: 1)
        records.map(micro(170), Self.libz, at: 0x10_1000, length: 0x1000, protection: 5)
        records.map(micro(200), Self.libc, at: 0x20_0000, length: 0x8000, protection: 1)
        records.map(micro(230), Self.libc, at: 0x20_1000, length: 0x4000, protection: 5)
        records.map(micro(180), Self.libz, at: 0x10_2000, length: 0x1000, protection: 3)
        records.map(micro(240), Self.libc, at: 0x20_6000, length: 0x1000, protection: 3)
        // RELRO: the last object is relocated first.
        records.map(micro(330), Self.libc, at: 0x20_6000, length: 0x1000, protection: 1)
        records.map(micro(480), Self.libz, at: 0x10_2000, length: 0x1000, protection: 1)
        return records
    }

    private func micro(_ time: Int) -> Int64 { 1_000_000_000 + Int64(time) * 1000 }

    private func log(_ records: RawRecords, rung: Rung, end: Int = 1000) -> LaunchLog {
        var log = LaunchLog(requested: Instant(nanoseconds: micro(0)), process: 100, rung: rung)
        var image = ProgramImage(auxiliary: [], memory: MemoryReader { _, _ in nil })
        image.kind = .dynamic
        image.runtime = "glibc"
        image.boundaries = [.linker: 1, .debugState: 2, .entry: 3, .main: 4]
        log.executions = [.init(time: Instant(nanoseconds: micro(52)), path: "/bin/app", image: image)]
        log.records = records.bytes
        log.streams = [
            RawRecords.taskEvent: .task, RawRecords.switchEvent: .schedulerSwitch,
            RawRecords.wakingEvent: .schedulerWaking, RawRecords.callEvent: .systemCall, RawRecords.clockEvent: .clock,
            11: .boundary(.linker, program: 0), 12: .boundary(.debugState, program: 0),
            13: .boundary(.entry, program: 0), 14: .boundary(.main, program: 0),
        ]
        log.layouts = TracepointLayouts(
            schedulerSwitch: TracepointLayout(format: RawRecords.switchFormat),
            schedulerWaking: TracepointLayout(format: RawRecords.wakingFormat),
            systemCall: TracepointLayout(format: RawRecords.callFormat))
        log.callNames = [202: "futex", 50: "listen"]
        log.end = (.exit, Instant(nanoseconds: micro(end)), 0)
        log.stopped = Instant(nanoseconds: micro(end))
        return log
    }

    private func recording(_ log: LaunchLog) -> LaunchRecording {
        LaunchDecoder.recording(
            of: log, program: LaunchedProgram(command: ["app"], executables: [], processID: 100),
            host: RecordingHost(architecture: "x86_64", kernel: "6.18", processors: 2), requested: WallTime(seconds: 0),
            ladder: [], resources: LaunchResources()
        ).recording
    }

    @Test("Phases end at the boundaries")
    func phases() {
        let phases = recording(log(records(), rung: .b)).phases
        let expected: [(LaunchPhase.Kind, Int, Int)] = [
            (.request, 0, 50), (.exec, 50, 100), (.linkerStart, 100, 150), (.mapping, 150, 230),
            (.relocation, 230, 500),
            (.libraryConstructors, 500, 600), (.ownConstructors, 600, 620), (.main, 620, 1000),
        ]
        #expect(phases.map(\.kind) == expected.map(\.0))
        #expect(phases.map(\.begin) == expected.map { .microseconds($0.1) })
        #expect(phases.map(\.end) == expected.map { .microseconds($0.2) })
        #expect(phases.map(\.isComplete) == expected.map { _ in true })
    }

    @Test("Objects have the times of their mapping and of their relocation")
    func objects() {
        let objects = recording(log(records(), rung: .b)).objects
        #expect(objects.map(\.path) == ["/bin/app", Self.libz, Self.libc])
        #expect(objects.map(\.mapping) == [nil, .microseconds(40), .microseconds(30)])
        #expect(objects.map(\.relocation) == [nil, .microseconds(150), .microseconds(100)])
        #expect(objects.map(\.size) == [0x1000, 0x3000, 0x8000])
    }

    @Test(
        "A program that exits in a phase leaves it incomplete",
        arguments: [
            (60, LaunchPhase.Kind.exec), (120, .linkerStart), (165, .mapping), (250, .mapping), (400, .relocation),
            (550, .libraryConstructors), (610, .ownConstructors),
        ])
    func endsEarly(end: Int, kind: LaunchPhase.Kind) {
        let last = recording(log(records(), rung: .b, end: end)).phases.last
        #expect(last?.kind == kind)
        #expect(last?.isComplete == false)
        #expect(last?.end == .microseconds(end))
    }

    @Test("The scheduler's records become spans with their causes and wakers")
    func lanes() {
        var records = records()
        records.wake(micro(5), thread: 100, by: 7)
        records.schedule(micro(10), from: 0, state: 0, to: 100)
        records.fork(micro(650), thread: 101)
        records.schedule(micro(660), from: 0, state: 0, to: 101, name: "loader", priority: 139)
        records.call(micro(700), thread: 100, number: 202)
        records.schedule(micro(701), from: 100, state: 1, to: 0)
        records.wake(micro(800), thread: 100, by: 101)
        records.schedule(micro(810), from: 0, state: 0, to: 100)
        records.schedule(micro(850), from: 100, state: 0, to: 55)
        records.schedule(micro(900), from: 55, state: 1, to: 100)
        records.schedule(micro(910), from: 100, state: 2, to: 0)
        records.wake(micro(920), thread: 100, by: 101, isInterrupt: true)
        records.schedule(micro(921), from: 0, state: 0, to: 100)
        records.lose(micro(930), 3)
        let recording = recording(log(records, rung: .a))
        #expect(recording.lostRecords == 3)
        #expect(recording.lanes.map(\.threadID) == [100, 101])
        let spans = recording.lanes[0].spans
        #expect(
            spans.map(\.state) == [
                .blocked, .runnable, .running, .blocked, .runnable, .running, .preempted, .running, .blocked, .runnable,
                .running,
            ])
        #expect(zip(spans, spans.dropFirst()).allSatisfy { $0.end == $1.begin })
        #expect(spans[3].detail == "futex" && spans[3].wall == .microseconds(99))
        #expect(spans[3].waker == .thread(id: 101, name: "app", nice: 19, isOwn: true))
        #expect(spans[8].waker == .interrupt && spans[8].detail == "futex, uninterruptible")
        #expect(spans[2].processor == 1)
        let main = recording.phases.last
        #expect(main?.time?.running == .microseconds(81 + 40 + 10 + 79))
        #expect(main?.time?.waiting == .microseconds(10 + 50 + 1))
        #expect(main?.time?.blocked == .microseconds(99 + 10))
    }

    @Test("The task's own records replace a switch or wake-up missing from the scheduler's records")
    func missingSwitches() {
        var records = records()
        records.schedule(micro(60), from: 0, state: 0, to: 100)
        records.change(micro(61), thread: 100, isOut: false)
        records.schedule(micro(700), from: 100, state: 1, to: 0)
        records.change(micro(701), thread: 100, isOut: true)
        // An interrupt wakes it on an idle CPU: neither is recorded.
        records.change(micro(720), thread: 100, isOut: false)
        records.change(micro(760), thread: 100, isOut: true, isPreempted: true)
        records.schedule(micro(790), from: 55, state: 0, to: 100)
        records.change(micro(791), thread: 100, isOut: false)
        let whole = recording(log(records, rung: .a))
        let spans = whole.lanes[0].spans
        #expect(spans.map(\.state) == [.blocked, .running, .blocked, .running, .preempted, .running])
        #expect(spans[2].wall == .microseconds(20) && spans[4].wall == .microseconds(30))
        #expect(spans[3].processor == 1)
        #expect(whole.notes.contains { $0.hasPrefix("2 wake-ups are missing") })
        var complete = self.records()
        complete.wake(micro(5), thread: 100, by: 7)
        complete.schedule(micro(10), from: 0, state: 0, to: 100)
        complete.change(micro(11), thread: 100, isOut: false)
        #expect(!recording(log(complete, rung: .a)).notes.contains { $0.contains("missing") })
    }

    @Test("A process that executes nothing has the name of the thread that created it")
    func childNames() {
        var records = records()
        records.spawn(micro(650), process: 101)
        records.exit(micro(700), thread: 101)
        #expect(recording(log(records, rung: .a)).lanes.map(\.name) == ["app", "app"])
    }

    @Test("A thread's exit is neither in its lane nor in the kernel's count for it")
    func exitTime() {
        var records = records()
        records.schedule(micro(10), from: 0, state: 0, to: 100)
        records.exit(micro(600), thread: 100)
        records.schedule(micro(650), from: 100, state: 0, to: 55)
        records.schedule(micro(660), from: 55, state: 1, to: 100)
        records.schedule(micro(700), from: 100, state: 0x10, to: 0)
        var log = log(records, rung: .a)
        log.threads = [
            .init(
                process: 100, thread: 100, name: "app",
                accounting: ThreadTime(running: .microseconds(590 + 50 + 40), waiting: .microseconds(10)))
        ]
        let lane = recording(log).lanes[0]
        #expect(lane.end == .microseconds(600))
        #expect(lane.spans.filter { $0.state == .running }.reduce(.zero) { $0 + $1.wall } == .microseconds(590))
        #expect(lane.accounting == ThreadTime(running: .microseconds(590)))
    }

    @Test("A task's own records distinguish preempted from blocked, but do not show wake-ups")
    func ownRecords() {
        var records = records()
        records.change(micro(700), thread: 100, isOut: true)
        records.change(micro(750), thread: 100, isOut: false)
        records.change(micro(760), thread: 100, isOut: true, isPreempted: true)
        records.change(micro(790), thread: 100, isOut: false)
        records.exit(micro(950), thread: 100)
        var log = log(records, rung: .b)
        log.looks = [.init(thread: 100, time: Instant(nanoseconds: micro(720)), call: "poll")]
        let recording = recording(log)
        let spans = recording.lanes[0].spans
        #expect(spans.map(\.state) == [.running, .blockedOrRunnable, .running, .preempted, .running])
        #expect(spans[1].detail == "poll")
        log.looks[0].subject = "fd 3: pipe"
        #expect(self.recording(log).lanes[0].spans[1].detail == "poll (fd 3: pipe)")
        // A look at another moment of the block does not take away what is known.
        log.looks.append(.init(thread: 100, time: Instant(nanoseconds: micro(740)), call: "poll"))
        #expect(self.recording(log).lanes[0].spans[1].detail == "poll (fd 3: pipe)")
        log.looks[0].call = "read"
        #expect(self.recording(log).lanes[0].spans[1].detail == "read (fd 3: pipe)")
        #expect(recording.lanes[0].begin == .microseconds(50))
        #expect(recording.end.time == .microseconds(950))
        #expect(recording.lanes[0].end == .microseconds(950))
    }

    @Test("A phase that the main thread's lane covers partly or not at all has no times")
    func uncovered() {
        var records = records()
        let plain = recording(log(records, rung: .b)).phases
        // The lane begins with the program's execution.
        #expect(plain.map { $0.time == nil } == [true, false, false, false, false, false, false, false])
        records.execute(micro(20), "wrapper")
        let wrapped = recording(log(records, rung: .b))
        #expect(wrapped.lanes[0].begin == .microseconds(20))
        #expect(wrapped.phases[0].time == nil && wrapped.phases[1].time != nil)
        // After its exit, the thread uses no time; the other threads' exits come later.
        records.exit(micro(950), thread: 100)
        records.exit(micro(960), thread: 101)
        let exited = recording(log(records, rung: .b))
        #expect(exited.end.time == .microseconds(960))
        #expect(exited.phases.last?.time?.running == .microseconds(950 - 620))
    }

    @Test("The recorder's stops, before and in the execve, belong to no phase's times, and have its name")
    func recorderStops() {
        var records = records()
        records.wake(micro(5), thread: 100, by: 7)
        records.schedule(micro(10), from: 0, state: 0, to: 100)
        records.schedule(micro(55), from: 100, state: 8, to: 0)
        records.wake(micro(80), thread: 100, by: 7)
        records.schedule(micro(85), from: 0, state: 0, to: 100)
        let recording = recording(log(records, rung: .a))
        let stops = recording.lanes[0].spans.filter(\.isRecorderStop)
        #expect(stops.map(\.wall) == [.microseconds(5), .microseconds(25)])
        let (request, exec) = (recording.phases[0], recording.phases[1])
        #expect(request.stopped == .microseconds(5) && request.ownWall == .microseconds(45))
        #expect(request.time == ThreadTime(running: .microseconds(40), waiting: .microseconds(5)))
        #expect(exec.stopped == .microseconds(25) && exec.ownWall == .microseconds(25))
        #expect(exec.time == ThreadTime(running: .microseconds(20), waiting: .microseconds(5)))
        #expect(recording.phases[2].stopped == .zero)
    }

    @Test("Without lanes, only the stops that the recorder noted are known")
    func notedStops() {
        func time(_ time: Int) -> Instant { Instant(nanoseconds: micro(time)) }
        var log = log(RawRecords(), rung: .c)
        log.executions[0].released = time(90)
        for (boundary, begin, ran) in [
            (LaunchBoundary.linker, 100, 10), (.debugState, 150, 40), (.debugState, 500, 300), (.entry, 600, 390),
            (.main, 620, 400),
        ] {
            log.stops.append(
                .init(
                    boundary: boundary, program: 0, time: time(begin),
                    accounting: ThreadTime(running: .microseconds(ran)), released: time(begin + 8)))
        }
        let phases = recording(log).phases
        #expect(phases.map(\.kind).prefix(3) == [.request, .exec, .linkerStart])
        #expect(phases[0].stopped == .zero)
        #expect(phases[1].stopped == .microseconds(38) && phases[1].time == nil)
        #expect(phases[2].stopped == .microseconds(8))
        #expect(phases[2].time == ThreadTime(running: .microseconds(30), blocked: .microseconds(12)))
    }

    @Test("Samples after the launch do not belong to it")
    func lateSamples() {
        var records = records()
        for time in [700, 715, 716] { records.sample(micro(time), stack: [0x40_0010]) }
        var log = log(records, rung: .b)
        log.samplingInterval = .microseconds(500)
        log.end = (.ready, Instant(nanoseconds: micro(715)), nil)
        #expect(recording(log).samples?.count == 2)
        // The launch continues as long as one of its tasks is open.
        log.marks = [(.extendedEnd, Instant(nanoseconds: micro(800)), nil)]
        #expect(recording(log).samples?.count == 3)
    }

    @Test("Samples become a tree of the objects on the stack, without values that are not code")
    func samples() {
        var records = records()
        records.sample(micro(700), stack: [0x20_1010, 0xdead_beef, 0x40_0010])
        records.sample(micro(710), stack: [0x40_0020])
        records.sample(micro(720), stack: [0xffff_ffff_ffff_fe00, 0x20_1010, 0x40_0010])
        var log = log(records, rung: .b)
        log.samplingInterval = .microseconds(500)
        let samples = recording(log).samples
        #expect(samples?.count == 3)
        #expect(samples?.roots.map(\.object) == ["/bin/app"] && samples?.roots.map(\.count) == [3])
        #expect(samples?.roots.first?.callees.map(\.function) == ["libc.so.6"])
        #expect(samples?.roots.first?.callees.map(\.count) == [2])
    }

    @Test("A library is in use if a sample is in it; the program itself is never marked unused")
    func used() {
        var records = records()
        records.sample(micro(700), stack: [0x20_1010])
        var log = log(records, rung: .b)
        #expect(recording(log).objects.map(\.isUsed) == [nil, nil, nil])
        log.samplingInterval = .microseconds(500)
        #expect(recording(log).objects.map(\.path) == ["/bin/app", Self.libz, Self.libc])
        #expect(recording(log).objects.map(\.isUsed) == [nil, false, true])
    }

    @Test("A listening socket that was noticed late is dated by its system call")
    func listening() {
        var records = records()
        records.call(micro(800), thread: 100, number: 50)
        var log = log(records, rung: .a)
        log.end = (.listen, Instant(nanoseconds: micro(990)), nil)
        let recording = recording(log)
        #expect(recording.end.time == .microseconds(800))
        #expect(recording.marks.contains(LaunchMark(kind: .listen, time: .microseconds(800))))
    }

    /// The app starts a child at 650, which executes a program at 660 and exits at 990.
    private func wrapped(waitingFrom begin: Int, in call: Int64, rung: Rung = .a) -> LaunchLog {
        var records = records()
        records.call(micro(begin), thread: 100, number: call)
        records.schedule(micro(begin + 1), from: 100, state: 1, to: 101)
        records.wake(micro(991), thread: 100, by: 101)
        records.schedule(micro(995), from: 0, state: 0, to: 100)
        records.spawn(micro(650), process: 101)
        records.execute(micro(660), "tool")
        records.map(micro(661), "/usr/bin/tool", at: 0x50_0000, length: 0x1000, protection: 5)
        records.map(micro(662), Self.libc, at: 0x20_1000, length: 0x4000, protection: 5)
        records.schedule(micro(990), from: 101, state: 1, to: 0)
        records.exit(micro(990), thread: 101)
        var log = log(records, rung: rung)
        log.callNames[61] = "wait4"
        log.executions[0].time = Instant(nanoseconds: micro(600))
        return log
    }

    private static let wrapperNote =
        "The phases and the end are those of app [100], which waited for tool [101], a process of its own. "
        + "To see that program's, record its command directly, without app."

    @Test("A wrapper is marked as one, with the program that it waited for")
    func wrapper() {
        #expect(recording(wrapped(waitingFrom: 680, in: 61)).notes == [Self.wrapperNote])
    }

    @Test("A program that works while its child does, or waits for something else, is not a wrapper")
    func noWrapper() {
        // It waits for half of 340 µs if the wait begins at 820.
        #expect(recording(wrapped(waitingFrom: 818, in: 61)).notes == [Self.wrapperNote])
        #expect(recording(wrapped(waitingFrom: 820, in: 61)).notes == [])
        #expect(recording(wrapped(waitingFrom: 680, in: 202)).notes == [])
        var early = wrapped(waitingFrom: 680, in: 61)
        early.executions[0].time = Instant(nanoseconds: micro(651))
        #expect(recording(early).notes == [])
    }

    @Test("Without records, a program last seen waiting for its child is a wrapper")
    func bareWrapper() {
        func notes(_ calls: [String], rung: Rung) -> [String] {
            var log = log(RawRecords(), rung: rung)
            log.threads = [
                .init(process: 100, thread: 100, name: "app"), .init(process: 101, thread: 101, name: "tool"),
            ]
            log.looks = calls.map { .init(thread: 100, time: Instant(nanoseconds: micro(900)), call: $0) }
            return recording(log).notes
        }
        for rung in [Rung.c, .d] {
            let note = notes(["poll", "rt_sigsuspend"], rung: rung).first
            #expect(note?.hasPrefix("The phases and the end are those of app [100], which waited for tool") == true)
            #expect(note?.hasSuffix("record its command directly, without app.") == true)
            #expect(notes(["wait4", "poll"], rung: rung) == [])
            #expect(notes([], rung: rung) == [])
        }
    }

    @Test("Every truncation, and any changed byte, yields a recording that can be written and read")
    func damagedRecords() throws {
        var records = records()
        records.fork(micro(650), thread: 101)
        records.schedule(micro(701), from: 100, state: 1, to: 0)
        records.call(micro(800), thread: 100, number: 50)
        for length in stride(from: 0, through: records.bytes.count, by: 3) {
            var log = log(records, rung: .a)
            log.records = Array(records.bytes.prefix(length))
            #expect(recording(log).end.time == .microseconds(1000))
        }
        for offset in records.bytes.indices {
            var log = log(records, rung: .a)
            log.records[offset] ^= 0xff
            _ = try RecordingCoding.decode(RecordingCoding.encode(recording(log)))
        }
    }
}
