// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What is known of an app at one instant.
public struct AppReading: Hashable, Sendable {
    /// The states that an app can be in, as the control interface names them.
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
    /// The version of what was launched last; empty if unknown.
    public var version = ""
    /// How the app becomes ready; empty without a configuration.
    public var readiness = ""
    /// `kill` or `report`; empty without a configuration.
    public var enforcement = ""
    /// The app's state.
    public var state: State
    /// Whether the app is ready and owes no answer.
    public var isAnswering = false
    /// Whether a signal has stopped the app's process.
    public var isStoppedBySignal = false
    /// The allowances in force; nil without a configuration.
    public var allowances: Allowances?
    /// When the current launch began, since 1970-01-01 00:00 UTC; nil if nothing runs.
    public var started: Duration?
    /// When it became ready; nil if it is not.
    public var ready: Duration?
    /// When the latest answer or sign of life came, to a probe too; nil if there was none.
    public var lastAnswer: Duration?
    /// When the latest incident was reported; nil if there was none.
    public var lastIncident: Duration?
    /// Nil if it is not known.
    public var cpuTime: CPUTime?
    /// In bytes; nil if it is not known.
    public var memory: Int?
    /// Whether the app is probed.
    public var hasProbe = false
    /// Whether the app can be reloaded.
    public var hasReload = false
    /// What was counted, settled.
    public var meter: AppMeter

    /// Creates a reading.
    public init(name: String, state: State, meter: AppMeter = AppMeter()) {
        self.name = name
        self.state = state
        self.meter = meter
    }
}
