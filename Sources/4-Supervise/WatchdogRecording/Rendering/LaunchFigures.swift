// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// What a recording's phases and lanes say when they are added up.
struct LaunchFigures {
    let recording: LaunchRecording
    /// From the request to the end of the launch.
    let length: Duration
    /// The thread that ran `main`.
    let mainThread: ThreadLane?
    /// Its lane; nil on rungs that do not tell what it did when.
    var main: ThreadLane? { mainThread.flatMap { $0.spans.isEmpty ? nil : $0 } }
    /// Whether there is anything to draw.
    var hasSpans: Bool { recording.lanes.contains { !$0.spans.isEmpty } }

    init(_ recording: LaunchRecording) {
        self.recording = recording
        length = max(recording.end.time, .zero)
        let process = recording.program.processID
        mainThread =
            recording.lanes.first { $0.threadID == process && $0.processID == process }
            ?? recording.lanes.first { $0.processID == process }
    }

    /// The program's name: as it was called if nothing else was executed before, since the file may have several names.
    var name: String {
        let program = recording.program
        let called = program.executables.count == 1 ? program.command.first : nil
        return Self.fileName(called ?? program.executables.last ?? program.command.first ?? "")
    }

    /// The last component of a path.
    static func fileName(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? (path.isEmpty ? "???" : path)
    }

    /// The end of all that is drawn: of the launch, or of the last phase after it.
    ///
    /// Threads are recorded for longer: a server, until it is clear that listening was the end of its launch.
    var drawnLength: Duration { max(length, recording.phases.map(\.end).max() ?? .zero) }

    /// The lanes that begin before ``drawnLength``, and the main thread's.
    var drawnLanes: [ThreadLane] {
        let end = drawnLength
        return recording.lanes.filter { $0.begin < end || $0.threadID == mainThread?.threadID }
    }

    /// How a lane spent a part of the launch.
    static func account(of lane: ThreadLane, from begin: Duration = .zero, to end: Duration) -> LaneAccount {
        var account = LaneAccount()
        var low = 0
        var high = lane.spans.count
        while low < high {
            let middle = (low + high) / 2
            if lane.spans[middle].end <= begin { low = middle + 1 } else { high = middle }
        }
        for span in lane.spans[low...] {
            guard span.begin < end else { break }
            let part = min(span.end, end) - max(span.begin, begin)
            guard part > .zero else { continue }
            if span.isRecorderStop { account.stopped += part } else { account[span.state] += part }
        }
        return account
    }

    /// How the main thread spent the launch; without lanes from the phases or the kernel's counters, nil if none tells.
    var mainTime: ThreadTime? {
        if let main {
            let account = Self.account(of: main, to: length)
            return ThreadTime(
                running: account[.running], waiting: account[.preempted] + account[.runnable],
                blocked: account[.blocked] + account[.blockedOrRunnable])
        }
        let phases = recording.phases.filter { $0.begin < length }
        let times = phases.compactMap(\.time)
        // Some phases are not the launch; what the kernel counted for all of it is.
        guard !times.isEmpty, times.count == phases.count else { return mainThread?.accounting }
        return times.reduce(into: ThreadTime()) {
            $0.running += $1.running
            $0.waiting += $1.waiting
            $0.blocked += $1.blocked
        }
    }

    /// For how long the recorder had stopped the program during its launch; no part of ``mainTime``.
    var recorderTime: Duration {
        if let main { return Self.account(of: main, to: length).stopped }
        return recording.phases.filter { $0.begin < length }.reduce(.zero) { $0 + $1.stopped }
    }

    /// The same; nil below 1 % of the launch.
    var notableRecorderTime: Duration? {
        let time = recorderTime
        return Self.tenths(time, of: length) >= 10 ? time : nil
    }

    /// What the times of phases leave out, as a clause; nil if nothing.
    var recorderNote: String? {
        let stopped = recording.phases.reduce(Duration.zero) { $0 + $1.stopped }
        return stopped > .zero ? "without the \(stopped.brief) for which the recorder stopped the program" : nil
    }

    /// The share of the launch in which the main thread waited for a CPU, in thousandths; nil if unknown.
    var waitingTenths: Int? { mainTime.map { Self.tenths($0.waiting, of: length) } }

    /// A thread's blocks up to the end of the launch, the longest first, without those that the recording caused.
    func blocks(of lane: ThreadLane) -> [LaneSpan] {
        lane.spans.compactMap { span -> LaneSpan? in
            guard span.state == .blocked || span.state == .blockedOrRunnable, span.begin < length,
                !span.isRecorderStop
            else { return nil }
            var span = span
            span.end = min(span.end, length)
            return span.wall > .zero ? span : nil
        }
        .sorted { ($1.wall, $0.begin) < ($0.wall, $1.begin) }
    }

    /// The lane of a thread that woke another one.
    func lane(of waker: Waker?) -> ThreadLane? {
        guard case .thread(let id, _, _, _) = waker else { return nil }
        return recording.lanes.first { $0.threadID == id }
    }

    /// The timed constructors that began before the end of the launch, the slowest first.
    var constructorsByTime: [LaunchConstructor] {
        (recording.constructors ?? []).filter { $0.begin < drawnLength }
            .sorted { ($1.wall, $0.begin) < ($0.wall, $1.begin) }
    }

    /// The phase that a moment is in.
    func phase(at time: Duration) -> LaunchPhase? { recording.phases.last { $0.begin <= time && time < $0.end } }

    /// A share in thousandths, from 0 to 1000.
    static func tenths(_ part: Duration, of whole: Duration) -> Int {
        guard whole > .zero, part > .zero else { return 0 }
        return Int((min(part / whole, 1) * 1_000).rounded())
    }

    /// A share in whole percent: `31 %`.
    static func percent(_ part: Duration, of whole: Duration) -> String { "\((tenths(part, of: whole) + 5) / 10) %" }
}

/// How long a lane was in each state.
struct LaneAccount: Equatable {
    private var times: [LaneSpan.State: Duration] = [:]

    subscript(state: LaneSpan.State) -> Duration {
        get { times[state, default: .zero] }
        set { times[state] = newValue }
    }

    /// Runnable or preempted.
    var waiting: Duration { self[.runnable] + self[.preempted] }
    /// Blocked, as far as is known.
    var blocked: Duration { self[.blocked] + self[.blockedOrRunnable] }
    /// Stopped by the recorder, which is neither.
    var stopped: Duration = .zero
    /// Everything but that.
    var total: Duration { self[.running] + waiting + blocked }
}

extension LoadedObject {
    /// What the launch spent on the file; zero where nothing is known.
    var cost: Duration { (mapping ?? .zero) + (relocation ?? .zero) }
    /// The file's name.
    var name: String { LaunchFigures.fileName(path) }
}

extension LaunchConstructor {
    /// Its name, or without one its place in the file: `0x1139`.
    var title: String { function ?? "0x" + String(offset, radix: 16) }
    var file: String { LaunchFigures.fileName(object) }
    /// How long it ran without waiting for a CPU, which other programs caused.
    var ownTime: Duration { max(.zero, wall - (time?.waiting ?? .zero)) }
}
