// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// The lanes of a page, in few bytes.
///
/// A span is a number of microseconds with its state in the three lowest bits, as a varint. A running span is followed by
/// its CPU + 1, a blocked one by the numbers of its detail and of its waker, each counted from 1, with 0 for none. The
/// script on the page reads this.
struct LaneData {
    /// A lane without its spans.
    struct Lane: Equatable {
        let id: Int32
        let name: String
        /// The number of spans.
        let count: Int
        /// When the first span begins, in microseconds.
        let begin: Int64
    }

    /// The number for a time about which nothing is known.
    static let unknown: UInt64 = 5
    /// Above this size, short neighbors become one span.
    static let budget = 1_200_000

    private(set) var lanes: [Lane] = []
    private(set) var bytes: [UInt8] = []
    private(set) var details: [String] = []
    private(set) var wakers: [Waker] = []
    /// Spans shorter than this are merged with their neighbors, in microseconds; 0 if none are.
    private(set) var resolution: Int64 = 0

    private var detailNumbers: [String: UInt64] = [:]
    private var wakerNumbers: [String: UInt64] = [:]

    /// Encodes lanes; a page with too many spans gets a coarser resolution.
    init(_ lanes: [ThreadLane], length: Duration, budget: Int = LaneData.budget) {
        let length = Self.microseconds(length)
        var resolution: Int64 = 0
        repeat {
            self = LaneData(resolution: resolution)
            for lane in lanes { append(lane, length) }
            resolution = resolution == 0 ? max(1, length / 1_000_000) : resolution * 4
        } while bytes.count > budget && resolution <= length
    }

    private init(resolution: Int64) { self.resolution = resolution }

    private mutating func append(_ lane: ThreadLane, _ length: Int64) {
        var count = 0
        let first = max(0, lane.spans.first.map { Self.microseconds($0.begin) } ?? Self.microseconds(lane.begin))
        var time = min(first, length)
        let begin = time
        for span in merged(lane.spans) {
            let from = min(max(Self.microseconds(span.begin), time), length)
            let to = min(Self.microseconds(span.end), length)
            if from > time {
                put(UInt64(from - time) << 3 | Self.unknown)
                count += 1
                time = from
            }
            guard to > time else { continue }
            put(UInt64(to - time) << 3 | span.state.number)
            switch span.state {
            case .running: put(UInt64(clamping: (span.processor ?? -1).addingSaturated(1)) & 0x7fff)
            case .blocked, .blockedOrRunnable:
                put(number(of: span.detail))
                put(number(of: span.waker))
            case .preempted, .runnable: break
            }
            count += 1
            time = to
        }
        lanes.append(Lane(id: lane.threadID, name: lane.name, count: count, begin: begin))
    }

    /// Neighbors that are shorter than the resolution, as one span in the state that took most of it.
    private func merged(_ spans: [LaneSpan]) -> [LaneSpan] {
        guard resolution > 0 else { return spans }
        let limit = Duration.microseconds(resolution)
        var result: [LaneSpan] = []
        var group: [LaneSpan] = []
        func close() {
            guard let first = group.first, let last = group.last else { return }
            var account = LaneAccount()
            for span in group { account[span.state] += span.wall }
            let most = LaneSpan.State.allCases.max { account[$0] < account[$1] } ?? first.state
            result.append(LaneSpan(state: most, begin: first.begin, end: last.end))
            group = []
        }
        for span in spans {
            if span.wall >= limit {
                close()
                result.append(span)
            } else {
                group.append(span)
                if let first = group.first, span.end - first.begin >= limit { close() }
            }
        }
        close()
        return result
    }

    private mutating func number(of detail: String?) -> UInt64 {
        guard let detail else { return 0 }
        if let number = detailNumbers[detail] { return number }
        details.append(detail)
        detailNumbers[detail] = UInt64(details.count)
        return UInt64(details.count)
    }

    private mutating func number(of waker: Waker?) -> UInt64 {
        guard let waker else { return 0 }
        let key = waker.words
        if let number = wakerNumbers[key] { return number }
        wakers.append(waker)
        wakerNumbers[key] = UInt64(wakers.count)
        return UInt64(wakers.count)
    }

    private mutating func put(_ number: UInt64) {
        var rest = number
        while rest > 127 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Microseconds, at most a year's.
    static func microseconds(_ duration: Duration) -> Int64 {
        min(max(duration.nanoseconds / 1_000, -31_536_000_000_000), 31_536_000_000_000)
    }
}

extension LaneSpan.State {
    /// The number in a page's data.
    var number: UInt64 {
        switch self {
        case .running: 0
        case .preempted: 1
        case .runnable: 2
        case .blocked: 3
        case .blockedOrRunnable: 4
        }
    }
}

/// RFC 4648, section 4.
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(of bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group = 0
            for index in 0..<3 { group = group << 8 | (index < count ? Int(bytes[start + index]) : 0) }
            for index in 0..<4 {
                result.append(index <= count ? digits[group >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
