// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

extension LaunchText {
    /// How many threads are drawn.
    private static let laneLimit = 16

    /// A lane for each thread: the main thread first, then those that ran longest.
    mutating func lanes() {
        guard figures.hasSpans, figures.drawnLength > .zero else { return threads() }
        let label = 24
        let room = width - label - 10
        let length = figures.drawnLength
        let axis = "0" + length.brief.alignedRight(max(1, room - 1))
        heading("Lanes".alignedLeft(label), "  on CPU  " + paint(axis, .quiet))
        var used: Set<LaneDrawing.Cell> = []
        let order = figures.lanesByWeight
        for (lane, account) in order.prefix(Self.laneLimit) {
            let cells = LaneDrawing(lane, length: length, width: room).cells
            used.formUnion(cells)
            let name = Self.cut(figures.name(of: lane), label - 10)
            line(
                "  \(name)".alignedLeft(label - 7) + String(lane.threadID).alignedRight(7)
                    + milliseconds(account[.running]).alignedRight(8) + "  " + drawn(cells))
        }
        let rest = order.dropFirst(Self.laneLimit)
        if !rest.isEmpty {
            let ran = rest.reduce(Duration.zero) { $0 + $1.account[.running] }
            line("  \(rest.count) more, which ran \(ran.brief) together")
        }
        let later = recording.lanes.count - order.count
        if later > 0 { line(paint("  \(later) more, which began after the launch", .quiet)) }
        let legend = LaneDrawing.Cell.allCases.filter { $0 != .absent && used.contains($0) }
            .map { "\($0.rawValue) \($0.words)" }
        paragraph(
            legend.joined(separator: "  ") + "  (a column is \((length / room).brief))", label: "  ", color: .quiet)
    }

    /// What the kernel counted for each thread, where there are no lanes.
    private mutating func threads() {
        let order = figures.lanesByWeight
        guard !order.isEmpty else { return }
        heading("Threads (ms)".alignedLeft(24), "  on CPU waiting")
        for (lane, account) in order.prefix(Self.laneLimit) {
            let times = milliseconds(account[.running]).alignedRight(8) + milliseconds(account.waiting).alignedRight(8)
            line(
                "  \(Self.cut(figures.name(of: lane), 14))".alignedLeft(17) + String(lane.threadID).alignedRight(7)
                    + times)
        }
        if order.count > Self.laneLimit { line("  \(order.count - Self.laneLimit) more") }
    }

    /// On what the main thread waited, for how long, and who woke it.
    mutating func blocks() {
        guard let main = figures.main else { return }
        let groups = BlockGroup.grouping(figures.blocks(of: main))
        guard !groups.isEmpty else { return }
        heading("Longest blocks of the main thread")
        for group in groups.prefix(6) {
            paragraph("main \(group.words)", label: "  ", limit: 3)
            if let account = figures.accountOfWaker(during: group.longest) {
                paragraph(account, label: "    ", limit: 2, color: .quiet)
            }
        }
        if groups.count > 6 {
            let rest = groups.dropFirst(6).reduce(Duration.zero) { $0 + $1.total }
            line("  \(groups.count - 6) more, \(rest.brief) together")
        }
    }

    /// The calls that most samples of the main thread have on their stacks.
    mutating func heaviestPath() {
        guard let samples = recording.samples, samples.count > 0 else { return }
        let path = samples.heaviestPath
        guard !path.isEmpty else { return }
        let words = "\(samples.count) samples, one every \(samples.interval.brief)"
        heading("Heaviest path of the main thread", paint(" (\(words))", .quiet))
        // The way into the program is long in some languages; what it leads to comes last.
        let hidden = path.count > 16 ? 3..<path.count - 12 : 0..<0
        for (depth, call) in path.enumerated() {
            if depth == hidden.lowerBound, !hidden.isEmpty {
                line("".alignedRight(12 + depth) + paint("\(hidden.count) more calls", .quiet))
            }
            guard !hidden.contains(depth) else { continue }
            let share = percentText(tenths: samples.tenths(of: call))
            let indent = String(repeating: " ", count: depth - (depth < hidden.lowerBound ? 0 : hidden.count))
            let file = call.object.map(LaunchFigures.fileName)
            let place = file.map { $0 == call.function ? "" : "  (\($0))" } ?? ""
            line("  " + share.alignedRight(8) + "  " + Self.cut(indent + call.function + place, width - 12))
        }
        phasePaths()
    }

    /// The same for each phase with a twentieth of the samples, from the program's own code on.
    private mutating func phasePaths() {
        let paths = recording.phasePaths
        guard paths.count > 1 else { return }
        heading("Heaviest path of each phase", paint(" (* the program's own code)", .quiet))
        let title = paths.map(\.title.count).max() ?? 0
        for path in paths {
            let words = "  " + path.title.alignedLeft(title) + "\(path.count)".alignedRight(7) + "  "
            line(words + Self.cut(path.calls.joined(separator: " > "), width - words.count))
        }
    }

    /// The functions in which the main thread ran, whoever called them.
    mutating func functions() {
        guard let samples = recording.samples else { return }
        let named = samples.functions
        let functions = named.prefix(8).filter { samples.tenths(of: $0) >= 20 }
        guard !functions.isEmpty else { return }
        heading("Functions that the main thread ran in")
        let unnamed = named.reduce(samples.count) { $0.subtractingReportingOverflow($1.count).partialValue }
        let rest = SampledCalls.Call(function: "code without names", count: unnamed)
        for call in functions + (samples.tenths(of: rest) >= 20 ? [rest] : []) {
            let share = percentText(tenths: samples.tenths(of: call))
            let place = call.object.map { "  (\(LaunchFigures.fileName($0)))" } ?? ""
            line("  " + share.alignedRight(8) + "  " + Self.cut(call.function + place, width - 12))
        }
    }

    /// The files that took longest to load.
    mutating func libraries() {
        let objects = recording.objects
        guard !objects.isEmpty else { return }
        let costly = figures.objectsByCost.prefix(8).filter { $0.cost > .zero }
        let total = objects.reduce(Duration.zero) { $0 + $1.cost }
        let count = objects.count.counted("file")
        let late = objects.count { $0.isLate }
        let words = "\(count), \(total.brief)" + (late > 0 ? "; \(late) loaded after main had begun" : "")
        guard !costly.isEmpty else { return heading("Libraries", paint("  \(words)", .quiet)) }
        let room = min(width - 41, max(20, costly.map { $0.name.count }.max() ?? 0))
        heading("Libraries (ms)".alignedLeft(2 + room), "   total mapping  reloc.  size".alignedLeft(37))
        for object in costly {
            let remark = isUnused(object) ? "-" : object.isLate ? "+" : " "
            let times = [object.cost, object.mapping, object.relocation]
            let columns = times.map { ($0.map(milliseconds) ?? "-").alignedRight(8) }.joined()
            let size = LaunchResources.size(object.size).alignedRight(11)
            line("\(remark) " + Self.cut(object.name, room).alignedLeft(room) + columns + size)
        }
        line(paint("  " + words, .quiet))
        if costly.contains(where: isUnused) { line(paint("- in no sample of the main thread", .quiet)) }
        if costly.contains(where: { !isUnused($0) && $0.isLate }) {
            line(paint("+ loaded after main had begun", .quiet))
        }
    }

    private func isUnused(_ object: LoadedObject) -> Bool {
        object.isUsed == false && (recording.samples?.count ?? 0) >= LaunchAdvice.enoughSamples
    }

    /// How threads are scheduled that differ from the main thread.
    mutating func scheduling() {
        let groups = figures.unusualScheduling
        guard let main = figures.mainThread?.scheduling, !groups.isEmpty else { return }
        heading("Scheduling", paint("  main: \(main.words)", .quiet))
        for group in groups.prefix(8) {
            let threads = group.threads.prefix(4).map { "\($0.threadID) \"\($0.name.singleLine(limit: 32))\"" }
            let more = group.threads.count > 4 ? " and \(group.threads.count - 4) more" : ""
            paragraph("\(group.difference): \(threads.joined(separator: ", "))\(more)", label: "  ", limit: 3)
        }
    }
}
