// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
public import WatchdogVerdict

extension ProcessSamples {
    /// A line for each distinct stack, in the format of flame graph programs: `thread;outermost;…;innermost count`.
    public var collapsed: String {
        var counts: [String: Int] = [:]
        var lines: [String] = []
        for thread in threadsByWeight {
            CallTree(of: thread, in: self).leaves { path, leaf in
                let names =
                    ["\(thread.name.singleLine(limit: 32))-\(thread.id)"] + path.map(\.name) + ["[\(leaf.name)]"]
                let line = names.map(Self.withoutSeparator).joined(separator: ";")
                if counts[line] == nil { lines.append(line) }
                counts[line, default: 0] += leaf.count
            }
        }
        return lines.map { "\($0) \(counts[$0] ?? 0)\n" }.joined()
    }

    private static func withoutSeparator(_ name: String) -> String {
        String(name.map { $0 == ";" ? ":" : $0 })
    }

    /// A file for speedscope (<https://www.speedscope.app>), with one profile per thread.
    public var speedscope: String {
        var frames: [SpeedscopeFile.Frame] = []
        var numbers: [SpeedscopeFile.Frame: Int] = [:]
        func number(_ frame: SpeedscopeFile.Frame) -> Int {
            if let number = numbers[frame] { return number }
            numbers[frame] = frames.count
            frames.append(frame)
            return frames.count - 1
        }
        let interval = max(1, interval.nanoseconds / 1_000)
        let profiles = threadsByWeight.map { thread in
            SpeedscopeFile.Profile(
                name: "\(thread.name.singleLine(limit: 32)) (\(thread.id))",
                startValue: Int64(thread.runs.first?.first ?? 0) * interval,
                endValue: Int64(thread.runs.last.map { $0.first + $0.count } ?? 0) * interval,
                samples: thread.runs.map { run in
                    let stack = stacks[run.stack]
                    let calls = (stack.asynchronousFrames.reversed() + stack.frames.reversed()).map {
                        number(.init($0, images))
                    }
                    return calls + [number(.init(name: "[\(stack.place)]"))]
                },
                weights: thread.runs.map { Int64($0.count) * interval }
            )
        }
        return JSONText.of(
            SpeedscopeFile(
                name: "\(name.singleLine(limit: 255)) [\(process)]", shared: .init(frames: frames), profiles: profiles))
    }

    /// All data as JSON, for programs.
    public var json: String { JSONText.of(SampleFile(self)) }
}

/// The parts of speedscope's file format that are used.
private struct SpeedscopeFile: Encodable {
    struct Frame: Encodable, Hashable {
        var name: String
        var file: String?
        var line: Int?

        init(name: String) {
            self.name = name
        }

        init(_ frame: WatchdogVerdict.Frame, _ images: [BinaryImage]) {
            let image = images.indices.contains(frame.imageIndex) ? images[frame.imageIndex] : .unknown
            name = (frame.symbol ?? "\(image.name) + \(frame.imageOffset.hexadecimal())").singleLine(limit: 1_024)
            file = (frame.sourceFile ?? image.path).singleLine(limit: 1_024)
            line = frame.sourceLine
        }
    }

    struct Shared: Encodable {
        var frames: [Frame]
    }

    struct Profile: Encodable {
        var type = "sampled"
        var name: String
        var unit = "microseconds"
        var startValue: Int64
        var endValue: Int64
        var samples: [[Int]]
        var weights: [Int64]
    }

    var schema = "https://www.speedscope.app/file-format-schema.json"
    var exporter = "watchdogd"
    var name: String
    var shared: Shared
    var profiles: [Profile]

    enum CodingKeys: String, CodingKey {
        case schema = "$schema"
        case exporter, name, shared, profiles
    }
}

/// What `watchdogd sample --format json` prints.
private struct SampleFile: Encodable {
    struct Call: Encodable {
        var function: String
        var image: String?
        var source: String?
        var count: Int
        var calls: [Call]

        init(_ index: Int, _ tree: CallTree) {
            let node = tree.nodes[index]
            function = node.isPlace ? "[\(node.name)]" : node.name
            image = node.image
            source = node.source
            count = node.count
            calls = tree.children(of: index).map { Call($0, tree) }
        }
    }

    struct Thread: Encodable {
        var id: Int
        var name: String
        var isMain: Bool
        var samples: Int
        var runNanoseconds: Int64
        var runDelayNanoseconds: Int64
        var places: [String: Int]
        var calls: [Call]
    }

    var schema = 1
    var pid: Int
    var name: String
    var path: String
    var time: String
    var intervalNanoseconds: Int64
    var durationNanoseconds: Int64
    var samples: Int
    var costNanoseconds: Int64
    var stops: Int
    var longestStopNanoseconds: Int64
    var notes: [String]
    var threads: [Thread]

    init(_ samples: ProcessSamples) {
        pid = samples.process
        name = samples.name.singleLine(limit: 255)
        path = samples.path.singleLine(limit: 4_096)
        time = samples.time.text(fractionDigits: 4)
        intervalNanoseconds = samples.interval.nanoseconds
        durationNanoseconds = samples.duration.nanoseconds
        self.samples = samples.sampleCount
        costNanoseconds = samples.cost.nanoseconds
        stops = samples.stopCount
        longestStopNanoseconds = samples.longestStop.nanoseconds
        notes = samples.notes.map { $0.singleLine(limit: 4_096) }
        threads = samples.threadsByWeight.map { thread in
            let tree = CallTree(of: thread, in: samples)
            var places: [String: Int] = [:]
            for run in thread.runs { places[samples.stacks[run.stack].place, default: 0] += run.count }
            return Thread(
                id: thread.id, name: thread.name.singleLine(limit: 64), isMain: thread.id == samples.process,
                samples: thread.sampleCount, runNanoseconds: thread.runTime.nanoseconds,
                runDelayNanoseconds: thread.runDelay.nanoseconds, places: places,
                calls: tree.children(of: 0).map { Call($0, tree) })
        }
    }
}
