// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogRecording
@testable import WatchdogRendering

/// Traces, as events and as read with Perfetto's own definition of the format.
@Suite("Perfetto traces", .reapsChildren)
struct PerfettoTests {
    @Test("A lane becomes kernel events: which thread left a CPU in which state, and which one woke it")
    func events() {
        let first = LaneScript(thread: 10, process: 10, name: "app")
        first.run(2, on: 1).preempted(1).run(1, on: 1)
        first.blocked(3, in: "read, uninterruptible", by: .thread(id: 11, name: "b", nice: nil, isOwn: true)).runnable(
            1
        ).run(
            1, on: 0)
        first.exit()
        let second = LaneScript(thread: 11, process: 10, name: "b", begin: 2)
        second.run(1, on: 1).blocked(2, in: "futex", by: .interrupt).run(3, on: 2)
        let recording = Launches.recording(
            of: "/usr/bin/app", [first.lane, second.lane], rung: .a, phases: [],
            end: LaunchEnd(kind: .exit, time: ms(9), code: 0))
        typealias Entry = SchedulerEvents.Entry
        #expect(
            SchedulerEvents(recording).entries == [
                Entry(time: ms(0), processor: 1, event: .switched(from: 0, state: .runnable, to: 10)),
                Entry(time: ms(2), processor: 1, event: .switched(from: 10, state: .runnable, to: 11)),
                Entry(time: ms(3), processor: 1, event: .switched(from: 11, state: .interruptible, to: 10)),
                Entry(time: ms(4), processor: 1, event: .switched(from: 10, state: .uninterruptible, to: 0)),
                Entry(time: ms(5), processor: 2, event: .waking(thread: 11, by: 0, isInterrupt: true)),
                Entry(time: ms(5), processor: 2, event: .switched(from: 0, state: .runnable, to: 11)),
                Entry(time: ms(7), processor: 0, event: .waking(thread: 10, by: 11, isInterrupt: false)),
                Entry(time: ms(8), processor: 2, event: .switched(from: 11, state: .interruptible, to: 0)),
                Entry(time: ms(8), processor: 0, event: .switched(from: 0, state: .runnable, to: 10)),
                Entry(time: ms(9), processor: 0, event: .switched(from: 10, state: .dead, to: 0)),
            ])
    }

    @Test("Threads that run at the same time on unknown CPUs have one each")
    func inventedProcessors() {
        let lanes = (0..<3).map { index in
            LaneScript(thread: Int32(20 + index), process: 20, name: "t").run(5, on: nil).lane
        }
        let recording = Launches.recording(
            of: "/bin/x", lanes, rung: .b, phases: [], end: LaunchEnd(kind: .exit, time: ms(5)))
        let begun = SchedulerEvents(recording).entries.prefix(3)
        #expect(Set(begun.map(\.processor)) == [0, 1, 2])
    }

    @Test("Numbers and texts are encoded as in protobuf's documentation")
    func protobuf() {
        var message = ProtobufMessage()
        message.number(1, 150)
        message.text(2, "testing")
        message.message(3) { $0.number(1, -1) }
        #expect(
            message.bytes
                == [0x08, 0x96, 0x01, 0x12, 0x07] + Array("testing".utf8) + [0x1a, 0x0b, 0x08]
                + [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])
    }

    /// Prints the slices of a trace, each below its parent.
    private static let slices = """
        import sys
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
        trace = Trace()
        trace.ParseFromString(open(sys.argv[1], 'rb').read())
        last, open_slices = 0, []
        for p in (p for p in trace.packet if p.HasField('track_event')):
            assert last <= p.timestamp
            last = p.timestamp
            if p.track_event.type == 1:
                open_slices.append((p.timestamp, p.track_event.name))
            elif p.track_event.type == 2:
                begin, name = open_slices.pop()
                print('  ' * len(open_slices) + name, (last - begin) // 1000000)
        """

    @Test(
        "Timed constructors lie within their phase, even an interrupted one",
        .enabled(if: Self.knowsFormat, "there is no module perfetto: scripts/setup installs it"))
    func constructors() throws {
        func constructor(_ name: String?, _ begin: Double, _ end: Double, isOwn: Bool = false) -> LaunchConstructor {
            LaunchConstructor(
                object: isOwn ? "/usr/bin/app" : "/lib/libfirst.so", function: name, offset: 0x1139, isOwn: isOwn,
                begin: ms(begin), end: ms(end))
        }
        var recording = Launches.recording(
            of: "/usr/bin/app", [LaneScript(thread: 10, process: 10, name: "app").run(100).lane], rung: .a,
            phases: [(.request, 10), (.libraryConstructors, 50), (.ownConstructors, 70), (.main, 100)],
            end: LaunchEnd(kind: .firstFrame, time: ms(100)))
        recording.constructors = [
            constructor("load", 10, 30), constructor(nil, 30, 50), constructor("globals", 55, 75, isOwn: true),
        ]
        try expect(
            Self.slices, of: recording,
            prints: """
                  request to exec 10
                    load (libfirst.so) 20
                    0x1139 (libfirst.so) 20
                  library constructors 40
                    globals (app) 15
                  own constructors 20
                  main 30
                first frame after 100 ms 100

                """)
    }

    private static let program = """
        import sys, collections
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
        trace = Trace()
        trace.ParseFromString(open(sys.argv[1], 'rb').read())
        count = collections.Counter()
        depth = collections.Counter()
        names, threads, last = [], [], collections.defaultdict(int)
        def unknown(m):
            from google.protobuf.unknown_fields import UnknownFieldSet
            return len(UnknownFieldSet(m)) + sum(unknown(v) for f, x in m.ListFields() if f.message_type
                                                 for v in (x if f.is_repeated else [x]))
        for p in trace.packet:
            if p.HasField('ftrace_events'):
                for e in p.ftrace_events.event:
                    kind = e.WhichOneof('event')
                    count[kind] += 1
                    if kind == 'sched_switch':
                        assert last[p.ftrace_events.cpu] <= e.timestamp
                        last[p.ftrace_events.cpu] = e.timestamp
            if p.HasField('process_tree'):
                threads += [t.name for t in p.process_tree.threads]
            if p.HasField('track_event'):
                t = p.track_event
                depth[t.track_uuid] += {1: 1, 2: -1}.get(t.type, 0)
                assert depth[t.track_uuid] >= 0
                if t.name: names.append(t.name)
            if p.HasField('system_info'):
                print(p.system_info.utsname.release)
        assert not any(depth.values()), depth
        assert unknown(trace) == 0, unknown(trace)
        print(count['sched_switch'] > 50, count['sched_waking'])
        print(threads)
        print([n for n in names if n in ('first frame after 2.30 s', 'library constructors', 'futex', 'hello')])
        """

    @Test(
        "Perfetto's own definition of the format reads a trace without an unknown field",
        .enabled(if: Self.knowsFormat, "there is no module perfetto: scripts/setup installs it"))
    func published() throws {
        try expect(
            Self.program, of: Launches.starSearcher,
            prints: """
                6.18.5
                True 12
                ['StarSearcher', 'star loader', 'web']
                ['first frame after 2.30 s', 'library constructors', 'hello', 'futex', 'futex']

                """)
    }

    /// Whether Perfetto's definition of the format is installed: scripts/setup.
    private static var knowsFormat: Bool {
        (try? ForeignReaderTests.run(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"]).status) == 0
    }

    /// Compares a Python program's output for a recording's trace.
    private func expect(_ program: String, of recording: LaunchRecording, prints expected: String) throws {
        try TestFiles.withFolder { folder in
            let path = "\(folder)/trace.perfetto"
            try TestFiles.write(PerfettoTrace.encode(recording), to: path)
            let (status, output) = try run(["-c", program, path])
            #expect(status == 0, "\(output)")
            #expect(output == expected)
        }
    }

    private func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        try ForeignReaderTests.run(arguments)
    }
}
