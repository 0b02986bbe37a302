// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// A recording as a trace for <https://ui.perfetto.dev>: CPUs, thread states with wakers, phases with their constructors,
/// marks and long blocks.
///
/// The numbers of fields are those of `perfetto_trace.proto`.
public enum PerfettoTrace {
    /// The trace's bytes.
    ///
    /// On rungs that do not tell on which CPU a thread ran, the trace has invented CPUs.
    public static func encode(_ recording: LaunchRecording) -> [UInt8] {
        var trace = PerfettoPackets()
        trace.machine(recording.host)
        trace.processes(recording)
        trace.scheduler(SchedulerEvents(recording))
        trace.launch(LaunchFigures(recording))
        return trace.bytes
    }
}

/// Packets of a trace.
private struct PerfettoPackets {
    /// Perfetto takes a timestamp of 0 for none.
    private static let start = Duration.seconds(1)
    /// Shorter blocks show in the thread's states alone.
    private static let leastBlock = Duration.microseconds(100)

    private enum Track: Int64 {
        case process = 1
        case phases, marks
        /// Threads' tracks follow.
        case firstThread = 16
    }

    private var message = ProtobufMessage()

    var bytes: [UInt8] { message.bytes }

    private mutating func packet(_ build: (inout ProtobufMessage) -> Void) {
        message.message(1) { packet in
            build(&packet)
            packet.number(10, 1)  // trusted_packet_sequence_id
        }
    }

    private static func time(_ time: Duration) -> Int64 { max(1, (start + max(.zero, time)).nanoseconds) }

    private static func safe(_ text: String) -> String { text.singleLine(limit: 1_024) }

    /// Which kernel it was: the meaning of a thread's state depends on its version.
    mutating func machine(_ host: RecordingHost) {
        packet { packet in
            packet.message(45) { info in
                info.message(1) { name in
                    name.text(1, "Linux")
                    name.text(3, Self.safe(host.kernel))
                    name.text(4, Self.safe(host.architecture))
                }
            }
        }
    }

    /// The names of processes and threads.
    mutating func processes(_ recording: LaunchRecording) {
        let main = recording.program.processID
        let others = Set(recording.lanes.map(\.processID)).subtracting([main]).sorted()
        packet { packet in
            packet.message(2) { tree in
                for process in [main] + others {
                    let lane = recording.lanes.first { $0.threadID == process }
                    let name = process == main ? LaunchFigures(recording).name : lane?.name ?? "\(process)"
                    tree.message(1) { entry in
                        entry.number(1, Int64(process))
                        entry.number(2, process == main ? 1 : Int64(main))
                        entry.text(3, Self.safe(name))
                    }
                }
                for lane in recording.lanes {
                    tree.message(2) { entry in
                        entry.number(1, Int64(lane.threadID))
                        entry.text(2, Self.safe(lane.name))
                        entry.number(3, Int64(lane.processID))
                    }
                }
            }
        }
    }

    /// sched_switch and sched_waking, as ftrace would have them; one bundle for neighbors on the same CPU.
    mutating func scheduler(_ events: SchedulerEvents) {
        var bundle = ProtobufMessage()
        var processor: Int?
        var count = 0
        for entry in events.entries {
            if processor != entry.processor || count >= 512 {
                if count > 0 { packet { $0.message(1, bundle) } }
                bundle = ProtobufMessage()
                bundle.number(1, Int64(entry.processor))
                processor = entry.processor
                count = 0
            }
            bundle.message(2) { Self.event(entry, &$0) }
            count += 1
        }
        if count > 0 { packet { $0.message(1, bundle) } }
    }

    private static func event(_ entry: SchedulerEvents.Entry, _ event: inout ProtobufMessage) {
        event.number(1, time(entry.time))
        switch entry.event {
        case .switched(let previous, let state, let next):
            event.number(2, Int64(previous))
            event.message(4) { body in
                body.number(2, Int64(previous))
                body.number(3, 120)
                body.number(4, state.rawValue)
                body.number(6, Int64(next))
                body.number(7, 120)
            }
        case .waking(let thread, let waker, let isInterrupt):
            event.number(2, Int64(waker))
            // TRACE_FLAG_HARDIRQ: nobody's thread has woken it.
            if isInterrupt { event.number(5, 8) }
            event.message(20) { body in
                body.number(2, Int64(thread))
                body.number(3, 120)
                body.number(4, 1)
                body.number(5, Int64(entry.processor))
            }
        }
    }

    /// Phases as slices within one for the whole launch, constructors within theirs, marks, and the threads' long blocks.
    mutating func launch(_ figures: LaunchFigures) {
        let recording = figures.recording
        let process = recording.program.processID
        packet { packet in
            packet.message(60) { track in
                track.number(1, Track.process.rawValue)
                track.message(3) { description in
                    description.number(1, Int64(process))
                    description.text(6, Self.safe(figures.name))
                }
            }
        }
        track(.phases, "Launch phases")
        track(.marks, "Launch marks")
        let last = max(figures.length, recording.phases.map(\.end).max() ?? .zero)
        begin(Track.phases.rawValue, .zero, recording.end.words)
        for phase in recording.phases where phase.end > phase.begin {
            begin(Track.phases.rawValue, phase.begin, phase.kind.title)
            constructors(recording, within: phase)
            end(Track.phases.rawValue, phase.end)
        }
        end(Track.phases.rawValue, last)
        for mark in recording.marks { event(Track.marks.rawValue, mark.time, type: 3, mark.title) }
        for (index, lane) in recording.lanes.enumerated() { blocks(lane, Track.firstThread.rawValue + Int64(index)) }
    }

    /// The timed constructors that began in a phase, as slices within it: one begins when the one before it ends.
    private mutating func constructors(_ recording: LaunchRecording, within phase: LaunchPhase) {
        for constructor in recording.constructors ?? []
        where phase.begin <= constructor.begin && constructor.begin < phase.end {
            begin(Track.phases.rawValue, constructor.begin, "\(constructor.title) (\(constructor.file))")
            end(Track.phases.rawValue, min(constructor.end, phase.end))
        }
    }

    /// On what a thread was blocked, as slices of its own track.
    private mutating func blocks(_ lane: ThreadLane, _ track: Int64) {
        let blocks = lane.spans.filter {
            ($0.state == .blocked || $0.state == .blockedOrRunnable) && $0.detail != nil && $0.wall >= Self.leastBlock
        }
        guard !blocks.isEmpty else { return }
        packet { packet in
            packet.message(60) { description in
                description.number(1, track)
                description.message(4) { thread in
                    thread.number(1, Int64(lane.processID))
                    thread.number(2, Int64(lane.threadID))
                    thread.text(5, Self.safe(lane.name))
                }
            }
        }
        for block in blocks {
            begin(track, block.begin, block.detail ?? "")
            end(track, block.end)
        }
    }

    private mutating func track(_ track: Track, _ name: String) {
        packet { packet in
            packet.message(60) { description in
                description.number(1, track.rawValue)
                description.text(2, name)
                description.number(5, Track.process.rawValue)
            }
        }
    }

    private mutating func begin(_ track: Int64, _ time: Duration, _ name: String) { event(track, time, type: 1, name) }

    private mutating func end(_ track: Int64, _ time: Duration) { event(track, time, type: 2, nil) }

    /// - Parameter type: TYPE_SLICE_BEGIN, TYPE_SLICE_END or TYPE_INSTANT.
    private mutating func event(_ track: Int64, _ time: Duration, type: Int64, _ name: String?) {
        packet { packet in
            packet.number(8, Self.time(time))
            packet.message(11) { event in
                event.number(9, type)
                event.number(11, track)
                if let name { event.text(23, Self.safe(name)) }
            }
        }
    }
}
