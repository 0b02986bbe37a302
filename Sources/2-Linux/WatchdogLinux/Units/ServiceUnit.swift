// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A service of systemd, as its manager sees it at one instant.
public struct ServiceUnit: Hashable, Sendable {
    /// The unit's name: `nginx.service`.
    public let name: String
    /// `loaded`, `not-found`, `masked` and others.
    public let loadState: String
    /// `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating`.
    public let activeState: String
    /// Nil while the service has no main process.
    public let mainProcess: Int32?
    /// The service's cgroup, relative to the root of the hierarchy; nil while it has none.
    public let cgroup: String?
    /// `WatchdogSec=`; nil if systemd does not watch the service.
    public let watchdogInterval: Duration?
    /// When the service last sent `WATCHDOG=1`, or became ready; nil before that.
    public let lastPush: Instant?
    /// How the service last ended: `success`, `exit-code`, `signal`, `core-dump`, `watchdog`, `timeout` and others.
    public let result: String

    /// Creates a service from its properties, as `org.freedesktop.systemd1(5)` describes them.
    ///
    /// - Parameters:
    ///   - mainProcess: 0 for none.
    ///   - cgroup: empty for none.
    ///   - watchdogMicroseconds: 0 or the largest value for none.
    ///   - lastPushMicroseconds: CLOCK_MONOTONIC; 0 for none.
    public init(
        name: String, loadState: String, activeState: String, mainProcess: UInt32, cgroup: String,
        watchdogMicroseconds: UInt64, lastPushMicroseconds: UInt64, result: String
    ) {
        self.name = name
        self.loadState = loadState
        self.activeState = activeState
        self.mainProcess = mainProcess > 0 ? Int32(exactly: mainProcess) : nil
        self.cgroup = cgroup.isEmpty ? nil : cgroup
        watchdogInterval = Self.duration(watchdogMicroseconds)
        lastPush = Self.duration(lastPushMicroseconds).map { Instant(nanoseconds: 0) + $0 }
        self.result = result
    }

    /// Nil for none, and for the manager's "infinity".
    private static func duration(_ microseconds: UInt64) -> Duration? {
        let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
        guard microseconds > 0, !overflow, let value = Int64(exactly: nanoseconds) else { return nil }
        return .nanoseconds(value)
    }
}
