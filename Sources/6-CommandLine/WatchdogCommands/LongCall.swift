// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux

/// Shows on a terminal what a call does that cannot say how far it is; shows nothing for the first half second.
enum LongCall {
    private static let patience = Duration.milliseconds(500)

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - text: what it does, as in "naming the functions".
    ///   - limit: how long it may take, for a bar; nil if nobody knows.
    static func show<Value, Problem: Error>(
        _ text: String, limit: Duration? = nil, _ body: () throws(Problem) -> Value
    ) throws(Problem) -> Value {
        let (line, start) = (ProgressLine(), Instant.now())
        let ticker = Ticker(after: patience, every: .milliseconds(250)) {
            let elapsed = Instant.now() - start
            let fraction = limit.map { Double(elapsed.nanoseconds) / Double($0.nanoseconds) }
            line.show("\(text) (\(elapsed.nanoseconds / 1_000_000_000) s)", fraction)
        }
        defer {
            ticker.end()
            if Instant.now() - start >= patience { line.clear() }
        }
        return try body()
    }
}
