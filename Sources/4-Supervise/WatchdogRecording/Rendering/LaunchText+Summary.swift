// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

extension LaunchText {
    /// What was launched, how long it took, and where the time went.
    mutating func summary() {
        let program = recording.program
        let name = Self.cut(figures.name, 40)
        line(paint("\(name) [\(program.processID)]: \(recording.end.words)", .heading))
        if let most = mostly { paragraph(most, label: "  Mostly       ") }
        if let time = figures.mainTime {
            var shares = [
                ("on a CPU", time.running), ("waiting for one", time.waiting), ("blocked", time.blocked),
            ]
            if let stopped = figures.notableRecorderTime { shares.append((LaneSpan.recorderStop, stopped)) }
            let words = shares.filter { $0.1 > .zero }.map {
                "\($0) \($1.brief) (\(LaunchFigures.percent($1, of: figures.length)))"
            }
            paragraph(words.joined(separator: ", "), label: "  Main thread  ")
        }
        if let command = program.command.isEmpty ? nil : program.command.joined(separator: " ") {
            paragraph(command, label: "  Command      ", limit: 2)
        }
        if program.executables.count > 1 || program.executables != Array(program.command.prefix(1)) {
            paragraph(program.executables.joined(separator: " -> "), label: "  Executed     ", limit: 3)
        }
        let host = recording.host
        let processors = host.processors.counted("CPU")
        paragraph(
            "Linux \(host.kernel), \(host.architecture), \(processors), \(recording.requested.text(fractionDigits: 0))",
            label: "  Machine      ", limit: 2)
        let used = recording.resources
        let memory = used.peakMemory > 0 ? ", \(LaunchResources.size(used.peakMemory)) of memory" : ""
        paragraph(
            "\((used.user + used.system).brief) of CPU time, \(used.minorFaults) page faults\(memory); \(used.warmth)",
            label: "  Cost         ")
        if let rung = recording.ladder.first(where: \.used)?.rung {
            let lack = rung.lack.map { "; unknown here: \($0)" } ?? ""
            paragraph("\(rung.rawValue): \(rung.words)\(lack)", label: "  Rung         ")
        }
        if let warning = LaunchAdvice.warning(figures) { paragraph(warning, color: .warning) }
    }

    /// The phases that took most of the launch.
    private var mostly: String? {
        let longest = recording.phases.filter { $0.begin < figures.length }
            .map { ($0, min($0.ownWall, figures.length - $0.begin)) }
            .sorted { ($1.1, $0.0.begin) < ($0.1, $1.0.begin) }
        let shown = longest.prefix(3).filter { LaunchFigures.tenths($0.1, of: figures.length) >= 50 }
        guard !shown.isEmpty else { return nil }
        return shown.map { "\($0.kind.title) \($1.brief) (\(LaunchFigures.percent($1, of: figures.length)))" }
            .joined(separator: ", ")
    }

    /// The table of phases, with a bar for each at its place in the launch.
    mutating func phases() {
        guard !recording.phases.isEmpty else { return }
        let room = width - 57
        let end = figures.drawnLength.brief
        let axis = "0" + end.alignedRight(max(1, room - 1))
        heading("Phases (ms)".alignedLeft(22), "    wall  on CPU waiting blocked  " + paint(axis, .quiet))
        for phase in recording.phases {
            let times = [phase.time?.running, phase.time?.waiting, phase.time?.blocked]
            let columns = times.map { ($0.map(milliseconds) ?? "-").alignedRight(8) }.joined()
            line(
                "  \(phase.kind.title)".alignedLeft(22) + milliseconds(phase.ownWall).alignedRight(8) + columns + "  "
                    + bar(of: phase, room))
        }
        if let note = figures.recorderNote { paragraph(note, label: "  ", color: .quiet) }
        if recording.phases.contains(where: { !$0.isComplete }) { line(paint("  > not finished", .quiet)) }
    }

    /// A phase's bar: the main thread's states, or, without its lane, how much of each.
    private func bar(of phase: LaunchPhase, _ room: Int) -> String {
        let length = figures.drawnLength
        guard length > .zero else { return "" }
        func column(_ time: Duration) -> Int { min(room, max(0, Int((time / length * Double(room)).rounded()))) }
        let first = min(column(phase.begin), room - 1)
        let count = max(1, column(phase.end) - first)
        var cells: [LaneDrawing.Cell]
        if phase.time == nil {
            cells = Array(repeating: .unknown, count: count)
        } else if let main = figures.main {
            cells = LaneDrawing(main, length: length, width: room).cells[first..<first + count].map {
                $0 == .absent ? .blocked : $0
            }
        } else if let time = phase.time, phase.wall > .zero {
            let running = min(count, Int((time.running / phase.wall * Double(count)).rounded()))
            let waiting = min(count - running, Int((time.waiting / phase.wall * Double(count)).rounded()))
            cells = Array(repeating: .running, count: running) + Array(repeating: .runnable, count: waiting)
            cells += Array(repeating: .blocked, count: count - running - waiting)
        } else {
            cells = Array(repeating: .running, count: count)
        }
        let isCut = !phase.isComplete
        if isCut { cells.removeLast() }
        return String(repeating: " ", count: first) + drawn(cells) + (isCut ? ">" : "")
    }

    /// Moments that were reported.
    mutating func marks() {
        guard !recording.marks.isEmpty else { return }
        heading("Marks")
        for mark in recording.marks.prefix(24) {
            line("  " + mark.time.brief.alignedRight(8) + "  " + Self.cut(mark.title, width - 12))
        }
        if recording.marks.count > 24 { line("  \(recording.marks.count - 24) more") }
    }

    /// What to do.
    mutating func advice() {
        let advice = LaunchAdvice.all(figures)
        guard !advice.isEmpty else { return }
        heading("What to do")
        for item in advice { paragraph(item.sentence, label: "- ") }
    }

    /// What could not be recorded, why, and what would help.
    mutating func gaps() {
        let better = LaunchAdvice.gaps(recording)
        guard !better.isEmpty else { return }
        heading("Notes")
        for note in better { paragraph(note, label: "- ", limit: 4) }
    }
}
