// SPDX-License-Identifier: Apache-2.0

/// Whether the app pushes `WATCHDOG=1`, and how often it must.
struct PushWatch: Hashable, Sendable {
    /// The interval that the app requested; nil for the allowance of the spec, zero for no watching.
    private var interval: Duration?
    /// Whether another push is expected.
    private(set) var isExpected = false

    /// Records a push; returns whether it counts.
    ///
    /// After an interval of zero, none counts until a new interval is set.
    mutating func pushed() -> Bool {
        guard interval != .zero else { return false }
        isExpected = true
        return true
    }

    mutating func change(to interval: Duration) {
        self.interval = max(.zero, interval)
        isExpected = interval > .zero
    }

    /// Stops expecting pushes, because the app answers pings instead.
    mutating func end() { isExpected = false }

    func allowance(_ spec: AppSpec) -> Duration { interval ?? spec.allowances.update }
}

extension PushWatch {
    init(_ saved: SavedPushes) {
        interval = saved.interval
        isExpected = saved.isExpected
    }

    var saved: SavedPushes { SavedPushes(interval: interval, isExpected: isExpected) }
}
