// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

extension ProcessSamples {
    /// The call tree of every thread, the heaviest stack, where the threads were, and the images.
    public var text: String {
        var text = CrashText()
        header(&text)
        let trees = threadsByWeight.map { (thread: $0, tree: CallTree(of: $0, in: self)) }
        text.blank()
        text.line("Call tree, outermost call first; each with the number of samples that showed it:")
        for group in alike(trees) {
            text.blank()
            callTree(group.tree, of: group.threads, &text)
        }
        heaviest(trees.map(\.tree), &text)
        innermost(trees.map(\.tree), &text)
        binaryImages(&text)
        return text.string
    }

    private func header(_ text: inout CrashText) {
        text.line("Sampled \(name) [\(process)]")
        text.blank()
        text.field("Path", path)
        text.field("Date/Time", time.text(fractionDigits: 3))
        let every = "\((interval.nanoseconds + 50_000) / 1_000_000) ms"
        let length = duration.seconds(fractionDigits: 2)
        text.field("Samples", sampleCount == 1 ? "1" : "\(sampleCount) in \(length) s, one every \(every)")
        text.field("Threads", "\(threads.count)")
        let stop = longestStop.milliseconds(fractionDigits: 2)
        text.field(
            "Disturbance",
            stopCount == 0
                ? "none, no thread was stopped"
                : stopCount == 1
                    ? "a thread on a CPU was stopped once, for \(stop) ms"
                    : "threads on a CPU were stopped \(stopCount) times, for \(stop) ms at most")
        let cost = sampleCount > 0 ? cost / sampleCount : cost
        text.field("Cost", "\(cost.milliseconds(fractionDigits: 2)) ms of CPU time per sample")
        for note in notes { text.field("Note", note) }
    }

    private typealias Tree = (thread: Thread, tree: CallTree)

    /// Groups threads with identical trees; pools have many.
    private func alike(_ trees: [Tree]) -> [(threads: [Thread], tree: CallTree)] {
        var groups: [(threads: [Thread], tree: CallTree)] = []
        for (thread, tree) in trees {
            let isMain = thread.id == process
            if !isMain,
                let index = groups.firstIndex(where: { $0.tree == tree && $0.threads.first?.id != process })
            {
                groups[index].threads.append(thread)
            } else {
                groups.append(([thread], tree))
            }
        }
        return groups
    }

    private func callTree(_ tree: CallTree, of threads: [Thread], _ text: inout CrashText) {
        let width = String(sampleCount).count + 2
        guard let first = threads.first else { return }
        let title = threads.prefix(8).map { "\($0.id) \"\($0.name.singleLine(limit: 32))\"" }.joined(separator: ", ")
        let more = threads.count > 8 ? " and \(threads.count - 8) more" : ""
        let main = first.id == process ? ", main" : ""
        text.line(
            "\(String(tree.nodes[0].count).alignedRight(width)) \(threads.count > 1 ? "each of " : "")"
                + "Thread\(threads.count > 1 ? "s" : "") \(title)\(more)\(main)")
        text.line(String(repeating: " ", count: width + 1) + shares(threads))
        func visit(_ index: Int, _ depth: Int) {
            for child in tree.children(of: index) {
                let node = tree.nodes[child]
                let indent = String(repeating: " ", count: min(depth, 100) * 2)
                text.line("\(String(node.count).alignedRight(width))\(indent) \(Self.words(node))")
                visit(child, depth + 1)
            }
        }
        visit(0, 1)
    }

    private func shares(_ threads: [Thread]) -> String {
        let run = threads.reduce(Duration.zero) { $0 + $1.runTime }
        let delay = threads.reduce(Duration.zero) { $0 + $1.runDelay }
        var counts: [String: Int] = [:]
        for run in threads.flatMap(\.runs) { counts[stacks[run.stack].place, default: 0] += run.count }
        let total = max(1, threads.reduce(0) { $0 + $1.sampleCount })
        let places = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(4).map {
            "\($0.key) \(percentText(tenths: ($0.value * 1_000 + total / 2) / total))"
        }
        let (ran, waited) = (run.milliseconds(fractionDigits: 2), delay.milliseconds(fractionDigits: 2))
        return places.joined(separator: ", ") + "; ran \(ran) ms, waited \(waited) ms for a CPU"
    }

    private static func words(_ node: CallTree.Node) -> String {
        if node.isPlace { return "[\(node.name)]" }
        let image = node.image.map { "  (in \($0))" } ?? ""
        return node.name + image + (node.source.map { "  \($0)" } ?? "")
    }

    private func heaviest(_ trees: [CallTree], _ text: inout CrashText) {
        guard let tree = trees.first else { return }
        text.blank()
        text.line("Heaviest stack of the \(threadsByWeight.first?.id == process ? "main" : "first") thread:")
        for node in tree.heaviestPath {
            text.line("\(String(node.count).alignedRight(String(sampleCount).count + 2)) \(Self.words(node))")
        }
    }

    private func innermost(_ trees: [CallTree], _ text: inout CrashText) {
        var counts: [String: Int] = [:]
        for tree in trees {
            tree.leaves { path, leaf in
                let function = path.last.map { "\($0.name)  (in \($0.image ?? "???"))" } ?? "no stack"
                counts["\(function)  [\(leaf.name)]", default: 0] += leaf.count
            }
        }
        text.blank()
        text.line("Innermost calls of all threads:")
        for (name, count) in counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }).prefix(24) {
            text.line("\(String(count).alignedRight(String(sampleCount).count + 2)) \(name)")
        }
    }

    private func binaryImages(_ text: inout CrashText) {
        let used = Set(stacks.flatMap { ($0.frames + $0.asynchronousFrames).map(\.imageIndex) })
        text.blank()
        text.line("Binary images of these calls:")
        for (index, image) in images.enumerated() where used.contains(index) && image.size > 0 {
            let end = image.base &+ (image.size - 1)
            text.line(
                "\(image.base.hexadecimal().alignedRight(18)) - \(end.hexadecimal().alignedRight(18)) "
                    + "\(image.name) <\(image.buildID ?? "no build-id")> \(image.path)")
        }
    }
}
