// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Converts a log to a recording; a pure function.
public enum LaunchDecoder {
    /// - Parameters:
    ///   - log: the log.
    ///   - program: the launched program; its executables, kind, interpreter, runtime and build ID are taken from the
    ///     log.
    ///   - host: the machine.
    ///   - requested: the date and time of the request.
    ///   - ladder: the attempts.
    ///   - resources: the costs of the launch.
    /// - Returns: the recording, whose samples have file names in place of functions, and the stacks for naming the
    ///   functions.
    public static func recording(
        of log: LaunchLog, program: LaunchedProgram, host: RecordingHost, requested: WallTime, ladder: [RungAttempt],
        resources: LaunchResources
    ) -> (recording: LaunchRecording, stacks: SampledStacks?) {
        let timeline = RecordTimeline(log)
        let lanes = LaneDecoder.lanes(of: log, timeline)
        let log = refined(log, timeline, lanes)
        let decoder = PhaseDecoder(log, timeline)
        let marks = marks(of: log)
        let main = lanes.first { $0.threadID == log.process }
        var phases = decoder.phases(main: main, marks: marks)
        let stacks = SampleDecoder.stacks(of: log, timeline, in: phases)
        stacks?.addCalls(to: &phases)
        var recording = LaunchRecording(
            program: described(program, log), host: host, requested: requested, ladder: ladder,
            phases: phases, marks: marks,
            end: LaunchEnd(kind: log.end.kind, time: max(log.end.time - log.requested, .zero), code: log.end.code),
            objects: ObjectDecoder.objects(of: log, timeline, decoder, sampled: stacks?.paths),
            constructors: ConstructorDecoder.constructors(of: log, timeline, main: main), lanes: lanes,
            samples: stacks?.calls(), resources: resources, lostRecords: timeline.lost)
        recording.notes = [WrapperNote.sentence(log, timeline, lanes)].compactMap(\.self) + notes(on: recording, log)
        return (recording, stacks)
    }

    /// Replaces the times of polled observations, which are late, with those of the kernel's records.
    private static func refined(_ log: LaunchLog, _ timeline: RecordTimeline, _ lanes: [ThreadLane]) -> LaunchLog {
        var log = log
        let seen = log.end.time.nanoseconds
        var exact: Int64?
        switch log.end.kind {
        case .exit, .killed:
            for record in timeline.records where record.process == log.process {
                if case .exit = record.body { exact = record.time }
            }
        case .listen:
            for record in timeline.records where record.process == log.process && record.time <= seen {
                if case .systemCall(let number) = record.body, log.callNames[number] == "listen" { exact = record.time }
            }
        case .idle:
            let time = log.end.time - log.requested
            let span = lanes.first { $0.threadID == log.process }?.spans.last { $0.begin <= time && time < $0.end }
            if let span, span.state == .blocked || span.state == .blockedOrRunnable {
                exact = (log.requested + span.begin).nanoseconds
            }
        default: break
        }
        if let exact, exact <= seen { log.end.time = Instant(nanoseconds: exact) }
        switch log.end.kind {
        case .listen: log.marks.append((.listen, log.end.time, nil))
        case .idle: log.marks.append((.idle, log.end.time, nil))
        default: break
        }
        guard log.end.kind == .exit || log.end.kind == .killed else { return log }
        for index in log.marks.indices where log.marks[index].kind == .exit { log.marks[index].time = log.end.time }
        return log
    }

    private static func described(_ program: LaunchedProgram, _ log: LaunchLog) -> LaunchedProgram {
        var program = program
        program.executables = log.executions.map(\.path)
        program.processID = log.process
        guard !log.isReplaced, let image = log.executions.last?.image else { return program }
        program.kind = image.kind
        program.interpreter = image.interpreter
        program.runtime = image.runtime
        program.buildID = image.buildID
        return program
    }

    private static func marks(of log: LaunchLog) -> [LaunchMark] {
        let executions = log.executions.map { (kind: LaunchMark.Kind.exec, time: $0.time, name: Optional($0.path)) }
        return (executions + log.marks).map { mark in
            LaunchMark(kind: mark.kind, time: max(mark.time - log.requested, .zero), name: mark.name)
        }.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    private static func notes(on recording: LaunchRecording, _ log: LaunchLog) -> [String] {
        var notes: [String] = []
        let unseen = log.rung == .a ? recording.lanes.reduce(0) { $0 + $1.unseenWakeUps } : 0
        if unseen > 0 {
            let times = unseen == 1 ? "A wake-up is" : "\(unseen) wake-ups are"
            notes.append(
                "\(times) missing from the kernel's records: the blocked times before include waiting for a CPU.")
        }
        if let image = log.executions.last?.image, image.boundaries[.main] == nil, log.rung < .d {
            notes.append(
                "The start-up code does not reveal where main is; the phase main includes the program's own constructors."
            )
        }
        if recording.lanes.reduce(0, { $0 + $1.spans.count }) >= LaneDecoder.spanLimit {
            notes.append("The threads switched so often that the lanes end early.")
        }
        if log.rung == .b {
            notes.append(
                "Wake-ups and wakers of blocked threads are unknown: blocked times include waiting for a CPU. Run as root"
                    + " to see them.")
        }
        return notes
    }
}

extension ThreadLane {
    /// The number of times that the thread got a CPU after a block without a recorded wake-up.
    fileprivate var unseenWakeUps: Int {
        zip(spans, spans.dropFirst()).count { $0.state == .blocked && $1.state == .running }
    }
}
