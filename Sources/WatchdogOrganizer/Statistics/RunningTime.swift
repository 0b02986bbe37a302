// SPDX-License-Identifier: Apache-2.0

/// Adds up how long an app ran, from its launches and ends in order of time.
///
/// A launch whose end is unknown does not count: the machine may have lost power at any time.
struct RunningTime: Sendable {
    private var running: (since: Int64, version: String)?
    /// Seconds by version.
    private(set) var seconds: [String: Int64] = [:]

    mutating func launched(at time: Int64, version: String) { running = (time, version) }

    mutating func ended(at time: Int64) {
        guard let running else { return }
        let length = max(0, time - running.since)
        seconds[running.version, default: 0] += length
        self.running = nil
    }

    /// Counts what still runs until a time.
    mutating func finish(at time: Int64) { ended(at: time) }
}
