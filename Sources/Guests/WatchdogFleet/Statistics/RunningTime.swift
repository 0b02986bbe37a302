// SPDX-License-Identifier: Apache-2.0

/// Sums up the running time of an app, from its launches and ends in order of time.
///
/// A launch whose end is unknown does not count: the machine may have lost power at any time.
struct RunningTime: Sendable {
    /// A version on a host.
    struct Place: Hashable, Sendable {
        let version: String
        let host: String
    }

    private var running: (since: Int64, place: Place)?
    /// The running times in seconds, by version and host.
    private(set) var seconds: [Place: Int64] = [:]

    mutating func launched(at time: Int64, version: String, host: String) {
        running = (time, Place(version: version, host: host))
    }

    mutating func ended(at time: Int64) {
        guard let running else { return }
        seconds[running.place, default: 0] += max(0, time - running.since)
        self.running = nil
    }
}
