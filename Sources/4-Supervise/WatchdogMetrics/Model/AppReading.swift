// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The state and the counts of an app at one instant.
public struct AppReading: Hashable, Sendable {
    /// The states that an app can be in, with their names in the control interface.
    public enum State: String, CaseIterable, Hashable, Sendable {
        case stopped, waiting, launching, running, terminating, capturing, dying, failed, unkillable
    }

    /// The CPU time of the current launch.
    public struct CPUTime: Hashable, Sendable {
        /// In user mode.
        public var user: Duration
        /// In the kernel.
        public var system: Duration

        /// Creates a time.
        public init(user: Duration, system: Duration) {
            self.user = user
            self.system = system
        }
    }

    /// The app's name.
    public var name: String
    /// The version of the latest launch; empty if unknown.
    public var version = ""
    /// The app's readiness setting; empty without a configuration.
    public var readiness = ""
    /// `kill` or `report`; empty without a configuration.
    public var enforcement = ""
    /// The app's state.
    public var state: State
    /// Whether the app is ready and no ping is overdue.
    public var isAnswering = false
    /// Whether a signal has stopped the app's process.
    public var isStoppedBySignal = false
    /// The allowances in force; nil without a configuration.
    public var allowances: Allowances?
    /// The start of the current launch, since 1970-01-01 00:00 UTC; nil without a process.
    public var started: Duration?
    /// The time at which it became ready; nil if it is not.
    public var ready: Duration?
    /// The time of the latest answer, sign of life or successful probe; nil without one.
    public var lastAnswer: Duration?
    /// The time of the latest reported incident; nil without one.
    public var lastIncident: Duration?
    /// The CPU time of the current launch; nil if unknown.
    public var cpuTime: CPUTime?
    /// The memory in bytes; nil if unknown.
    public var memory: Int?
    /// Whether the app is probed.
    public var hasProbe = false
    /// Whether the app can be reloaded.
    public var hasReload = false
    /// The counts, from ``AppMeter/counted(until:)``.
    public var meter: AppMeter

    /// Creates a reading; all optional values are unset.
    public init(name: String, state: State, meter: AppMeter = AppMeter()) {
        self.name = name
        self.state = state
        self.meter = meter
    }
}
