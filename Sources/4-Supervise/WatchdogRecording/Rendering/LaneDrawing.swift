// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// A lane as a row of characters, each for an equal part of the time.
struct LaneDrawing {
    /// What a character stands for.
    enum Cell: Character, CaseIterable {
        case running = "#"
        case preempted = "%"
        case runnable = "+"
        case blocked = "."
        /// Blocked most of the time, but ran too.
        case mostlyBlocked = ","
        case blockedOrRunnable = "~"
        /// A phase for which the rung does not show how it was spent.
        case unknown = "-"
        /// The thread did not exist.
        case absent = " "

        /// What the legend says.
        var words: String {
            switch self {
            case .running: "running"
            case .preempted: "preempted"
            case .runnable: "runnable"
            case .blocked: "blocked"
            case .mostlyBlocked: "mostly blocked"
            case .blockedOrRunnable: "blocked or runnable"
            case .unknown: "unknown"
            case .absent: ""
            }
        }
    }

    let cells: [Cell]

    /// - Parameters:
    ///   - length: the time that the whole width stands for.
    ///   - width: the number of characters, at least 1.
    init(_ lane: ThreadLane, length: Duration, width: Int) {
        guard length > .zero else {
            cells = []
            return
        }
        var accounts = [LaneAccount](repeating: LaneAccount(), count: width)
        for span in lane.spans where span.begin < length && span.end > .zero && span.begin < span.end {
            let first = Self.column(max(span.begin, .zero), length, width)
            let last = Self.column(min(span.end, length), length, width)
            for column in first...max(first, last) {
                let part = min(span.end, length * (column + 1) / width) - max(span.begin, length * column / width)
                if part > .zero { accounts[column][span.state] += part }
            }
        }
        let column = length / width
        cells = accounts.map { Self.cell($0, column) }
    }

    private static func column(_ time: Duration, _ length: Duration, _ width: Int) -> Int {
        min(width - 1, Int(time / length * Double(width)))
    }

    private static func cell(_ account: LaneAccount, _ column: Duration) -> Cell {
        // A sliver at the beginning or end of a thread is drawn too.
        guard account.total > .zero else { return .absent }
        let most = LaneSpan.State.allCases.max { account[$0] < account[$1] } ?? .blocked
        switch most {
        case .running: return .running
        case .preempted: return .preempted
        case .runnable: return .runnable
        case .blocked: return account[.running] * 20 >= column ? .mostlyBlocked : .blocked
        case .blockedOrRunnable: return account[.running] * 20 >= column ? .mostlyBlocked : .blockedOrRunnable
        }
    }
}
