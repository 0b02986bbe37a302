// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// How long an app may take for what, and how that is found out: the section `[Watchdog]`.
public struct WatchdogSettings: Hashable, Sendable {
    /// `Launch=`, `Update=`, `Terminate=`.
    public var allowances = Allowances()
    /// `Reload=`: from a request to reload until the app has done so.
    public var reloadAllowance: Duration = .seconds(20)
    /// `Ping=`: from one ping to the next.
    public var pingInterval: Duration = .seconds(1)
    /// `Readiness=`: how the app tells that it is ready.
    public var readiness = ReadinessSetting.automatic
    /// `Probe=`, if there is one.
    public var probe: ProbeSettings?
    /// `EnterBackground=` … `BackgroundLaunchCPU=`: what an app may take on its way through the lifecycle.
    public var lifecycle = LifecycleAllowances()
    /// `Enforce=`: what follows an exhausted allowance.
    public var enforcement = AppSpec.Enforcement.kill
    /// `HangReports=`: from how long on a hang that ends by itself has a report; nil for none.
    public var hangReports: Duration? = .seconds(1)
    /// `ExtensionCap=`: by how much the app can extend one allowance in all.
    public var extensionCap: Duration = Fairness().extensionCap
    /// `AllowBlindExtension=`: whether an extension counts that shows no progress.
    public var allowsBlindExtension = false
    /// `KeepReports=`: how long the app's reports are kept; nil for as long as those of others.
    public var reportAge: Duration?
    /// `TimeScale=`: what the allowances and the ping interval are multiplied by.
    public var timeScale: Double = 1

    /// Creates the default settings.
    public init() {}
}
