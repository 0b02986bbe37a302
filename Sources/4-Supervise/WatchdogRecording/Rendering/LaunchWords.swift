// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

extension LaunchPhase.Kind {
    /// What happens in it, in a few words.
    var title: String {
        switch self {
        case .request: "request to exec"
        case .exec: "kernel executes"
        case .linkerStart: "linker starts"
        case .mapping: "map libraries"
        case .relocation: "relocate"
        case .libraryConstructors: "library constructors"
        case .ownConstructors: "own constructors"
        case .main: "main"
        case .application: "application"
        case .untilUseful: "until useful"
        case .extended: "extended launch"
        }
    }
}

extension LaneSpan.State {
    /// The state's name.
    var title: String {
        switch self {
        case .running: "running"
        case .preempted: "preempted"
        case .runnable: "runnable"
        case .blocked: "blocked"
        case .blockedOrRunnable: "blocked or runnable"
        }
    }
}

extension LaunchMark {
    /// What happened, in words.
    var title: String {
        let words =
            switch kind {
            case .hello: "hello"
            case .firstFrame: "first frame"
            case .ready: "ready"
            case .useful: "useful"
            case .listen: "first listen"
            case .idle: "first idle"
            case .extendedBegin: "extended launch begins"
            case .extendedEnd: "extended launch ends"
            case .exec: "exec"
            case .exit: "exit"
            case .signpost: ""
            }
        return [words, name ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension LaunchEnd {
    /// How the launch ended, with its time: `first frame after 2.31 s`.
    var words: String {
        switch kind {
        case .firstFrame: "first frame after \(time.brief)"
        case .ready: "ready after \(time.brief)"
        case .useful: "useful after \(time.brief)"
        case .listen: "listens after \(time.brief)"
        case .idle: "idle for the first time after \(time.brief)"
        case .exit: "exited\(code.map { " with code \($0)" } ?? "") after \(time.brief)"
        case .killed:
            "killed\(code.map { " by \(SignalName.of(Int($0)))" } ?? "") after \(time.brief), its launch not over"
        case .timeLimit: "launch not over when the recording ended after \(time.brief)"
        }
    }

    /// The moment's name: "the first frame".
    var moment: String {
        switch kind {
        case .firstFrame: "the first frame"
        case .ready: "it was ready"
        case .useful: "it was useful"
        case .listen: "it listened"
        case .idle: "it was idle"
        case .exit: "it exited"
        case .killed: "it was killed"
        case .timeLimit: "the recording ended"
        }
    }
}

extension Rung {
    /// What a recording on the rung is made from.
    var words: String {
        switch self {
        case .a: "the scheduler's events of all CPUs, and breakpoints"
        case .b: "the program's own events, and breakpoints"
        case .c: "breakpoints by ptrace, and counters"
        case .d: "the clock, and what the program reports"
        }
    }

    /// What a recording on the rung lacks.
    var lack: String? {
        switch self {
        case .a: nil
        case .b: "who woke a thread, and when"
        case .c: "lanes, and times of single libraries"
        case .d: "phases before main, lanes, and libraries"
        }
    }
}

extension Waker {
    /// Who it was: `12253 "star loader" (nice 19)`.
    var words: String {
        switch self {
        case .thread(let id, let name, let nice, let isOwn):
            let place = isOwn ? nil : "another program's"
            let remarks = [nice.flatMap { $0 == 0 ? nil : "nice \($0)" }, place].compactMap(\.self)
            return (name.isEmpty ? "\(id)" : "\(id) \"\(name.singleLine(limit: 32))\"")
                + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))")
        case .interrupt: return "an interrupt"
        }
    }
}

extension LaneSpan {
    /// What the thread did: `blocked 754 ms in futex, woken by 12253 "star loader" (nice 19)`.
    var words: String {
        let place = detail.map { Self.place($0.singleLine(limit: 200)) } ?? ""
        let end = waker.map { ", woken by \($0.words)" } ?? ""
        return "\(state.title) \(wall.brief)\(place)\(end)"
    }

    private static func place(_ detail: String) -> String {
        if detail.hasPrefix("stopped") { return ", \(detail)" }
        return detail == "uninterruptible" ? " in an uninterruptible sleep" : " in \(detail)"
    }
}

extension LaneAccount {
    /// How the time was spent: `ran 210 ms, waited 540 ms for a CPU, was blocked 4 ms`.
    var words: String {
        var parts = ["ran \(self[.running].brief)"]
        if waiting > .zero { parts.append("waited \(waiting.brief) for a CPU") }
        if blocked > .zero { parts.append("was blocked \(blocked.brief)") }
        return parts.joined(separator: ", ")
    }
}

extension LaunchResources {
    /// `155 ms, 24 ms of it in the kernel`; without the second part if that is unknown.
    var cpuTime: String {
        (user + system).brief + (system > .zero ? ", \(system.brief) of it in the kernel" : "")
    }

    /// Whether the launch read from disks.
    var warmth: String {
        if isWarm { return "warm: nothing was read from a disk" }
        let faults = majorFaults.counted("major fault")
        return "not warm: \(Self.size(bytesRead)) read from disks, \(faults)"
    }

    /// Bytes in a unit that suits them: `19 MiB`.
    static func size(_ bytes: Int) -> String {
        switch bytes {
        case ..<1_024: "\(max(0, bytes)) bytes"
        case ..<(1 << 20): "\((bytes + 512) >> 10) KiB"
        case ..<(10 << 20): "\(bytes >> 20).\((bytes & ((1 << 20) - 1)) * 10 >> 20) MiB"
        case ..<(10 << 30): "\((bytes + (1 << 19)) >> 20) MiB"
        default: "\(bytes >> 30) GiB"
        }
    }
}
