// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// What the script of a page draws, as JSON that can stand inside a `script` element.
struct LaunchPageData {
    private(set) var json = "{"
    /// Spans shorter than this are merged, in microseconds; 0 if none are.
    let resolution: Int64

    init(_ figures: LaunchFigures) {
        let length = max(1, LaneData.microseconds(figures.drawnLength))
        let lanes = figures.lanesByWeight.map(\.lane)
        let data = LaneData(lanes, length: figures.drawnLength)
        resolution = data.resolution
        member("length", String(length))
        member("end", String(min(max(0, LaneData.microseconds(figures.length)), length)))
        member("main", figures.mainThread == nil ? "-1" : "0")
        member(
            "phases",
            Self.array(
                figures.recording.phases.enumerated().map { index, phase in
                    "{\"name\":\(Self.string(phase.kind.title)),\"b\":\(Self.time(phase.begin, length)),"
                        + "\"e\":\(Self.time(phase.end, length)),\"f\":\(index)}"
                }))
        member(
            "marks",
            Self.array(
                figures.recording.marks.filter { $0.time <= figures.drawnLength }.prefix(1_000).map {
                    "{\"t\":\(Self.time($0.time, length)),\"name\":\(Self.string($0.title))}"
                }))
        member(
            "lanes",
            Self.array(
                data.lanes.map {
                    "{\"id\":\($0.id),\"name\":\(Self.string($0.name)),\"n\":\($0.count),\"b\":\($0.begin)}"
                }))
        member("details", Self.array(data.details.map(Self.string)))
        member("wakers", Self.array(data.wakers.map(Self.waker)))
        json += "\"spans\":\"\(Base64.text(of: data.bytes))\"}"
    }

    private mutating func member(_ name: StaticString, _ value: String) { json += "\"\(name)\":\(value),\n" }

    private static func time(_ time: Duration, _ length: Int64) -> Int64 {
        min(max(0, LaneData.microseconds(time)), length)
    }

    private static func array(_ items: [String]) -> String { "[" + items.joined(separator: ",") + "]" }

    private static func waker(_ waker: Waker) -> String {
        switch waker {
        case .interrupt: "{}"
        case .thread(let id, let name, let nice, let isOwn):
            "{\"id\":\(id),\"name\":\(string(name)),\"nice\":\(nice ?? 0),\"own\":\(isOwn)}"
        }
    }

    /// A JSON string without characters that HTML gives a meaning to, so that no name can end the element.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.singleLine(limit: 512).unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "<", ">", "&", "'":
                result += "\\u00" + String(scalar.value, radix: 16)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
