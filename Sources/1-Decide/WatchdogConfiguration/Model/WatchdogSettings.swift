// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The allowances of an app and how it is watched: the section `[Watchdog]`.
public struct WatchdogSettings: Hashable, Sendable {
    /// `Launch=`, `Update=`, `Terminate=`.
    public var allowances = Allowances()
    /// `Reload=`: from the request to reload until the reload is complete.
    public var reloadAllowance: Duration = .seconds(20)
    /// `Ping=`: the time between pings.
    public var pingInterval: Duration = .seconds(1)
    /// `Readiness=`: how the app reports readiness.
    public var readiness = ReadinessSetting.automatic
    /// `Probe=`, if there is one.
    public var probe: ProbeSettings?
    /// `EnterBackground=` … `BackgroundLaunchCPU=`: the allowances of the lifecycle.
    public var lifecycle = LifecycleAllowances()
    /// `Enforce=`: what follows an exhausted allowance.
    public var enforcement = AppSpec.Enforcement.kill
    /// `HangReports=`: the minimum length of a reported hang that ended by itself; nil for no reports.
    public var hangReports: Duration? = .seconds(1)
    /// `CrashReports=`: which unrequested ends get a report; nil for none.
    public var crashReports: CrashReports? = .all
    /// `CrashStacks=`: whether the kernel should write a core file when a signal ends the app, for the stacks in the
    /// report.
    public var takesCrashStacks = false
    /// `RecordLaunches=`: whether the kernel records how the program starts, for the phases of a launch in the report.
    public var recordsLaunches = true
    /// `OnIncident=`: what runs after the report of an incident is written; nil for nothing.
    public var incidentHook: IncidentHook?
    /// `ReportsInJournal=`: whether journal entries carry reports.
    public var reportsInJournal = true
    /// `ExtensionCap=`: the limit on an app's extensions of one allowance.
    public var extensionCap: Duration = Fairness().extensionCap
    /// `AllowBlindExtension=`: whether an extension without progress counts.
    public var allowsBlindExtension = false
    /// `KeepStacks=`: whether the stacks of the app's incidents are kept beside the reports.
    public var keepsStacks = false
    /// `KeepReports=`: how long the app's reports are kept; nil for as long as others.
    public var reportAge: Duration?
    /// `TimeScale=`: the factor that the allowances and the ping interval are multiplied by.
    public var timeScale: Double = 1

    /// Creates the default settings.
    public init() {}
}

/// A command that runs after the report of an incident is written.
public struct IncidentHook: Hashable, Sendable {
    /// The command, for `/bin/sh -c`.
    public var command: String
    /// The files of the app that sets it: whoever can write to them decides what runs.
    public internal(set) var files: [String] = []

    /// How long it may run.
    public var timeout = defaultTimeout
    /// Whether it also runs for hangs that ended by themselves.
    public var includesHangs = false

    /// The limit unless another is set: long enough for a mail server that is slow.
    public static let defaultTimeout = Duration.seconds(30)
    /// The longest limit: few commands run at a time.
    public static let longestTimeout = Duration.seconds(3_600)

    /// Which reports a hook runs for.
    public enum Occasion: String, Hashable, Sendable, CaseIterable {
        /// Exhausted allowances and crashes.
        case failures
        /// Also hangs that ended by themselves.
        case all
    }

    /// Creates a hook.
    public init(_ command: String) { self.command = command }
}
