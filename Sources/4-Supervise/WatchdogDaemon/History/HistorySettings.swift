// SPDX-License-Identifier: Apache-2.0

public import WatchdogHistory

/// Where a daemon keeps its launches, and how many.
public struct HistorySettings: Hashable, Sendable {
    /// The file.
    public var path: String
    /// How much is kept.
    public var limits: HistoryStore.Limits

    /// Creates settings.
    public init(path: String, limits: HistoryStore.Limits = HistoryStore.Limits()) {
        self.path = path
        self.limits = limits
    }
}
