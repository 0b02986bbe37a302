// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogConfiguration
public import WatchdogLaunch
public import WatchdogLinux
import WatchdogPolicy

/// The configuration of `watchdogd observe`, from its command line.
public struct ObserveConfiguration: Sendable {
    /// The consequence of a hang, after its report.
    public enum Consequence: String, Hashable, Sendable, CaseIterable {
        /// No consequence: the service continues.
        case report
        /// watchdogd requests the restart of the service from systemd.
        case restartUnit = "restart-unit"
    }

    /// The observed targets, without duplicates.
    public var targets: [ObservedTarget]
    /// The service manager that knows the services.
    public var manager = ServiceBus.Manager.system
    /// The probe of the target; nil if only `WatchdogSec=` applies.
    public var probe: ProbeSettings?
    /// The consequence of a hang, after its report.
    public var consequence = Consequence.report
    /// The directory for reports; nil for the user's default.
    public var reportsDirectory: String?
    /// Whether reports are printed on standard error instead of written to files.
    public var printsReports = false
    /// The amount of messages on standard error.
    public var verbosity = Verbosity.normal
    /// The format of messages on standard error.
    public var logFormat = LogFormat.text
    /// The duration of the observation; nil to observe until a signal.
    public var duration: Duration?

    /// Creates a configuration with defaults for everything optional.
    public init(_ targets: [ObservedTarget]) {
        precondition(!targets.isEmpty, "something has to be observed")
        self.targets = targets
    }

    /// - Parameter name: the name in reports.
    func spec(_ name: String) -> AppSpec {
        var spec = AppSpec(name: name, readiness: .none, enforcement: .report)
        spec.livenessProbe = probe?.probe
        spec.observationDelay = .seconds(1)
        return spec
    }
}
