// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogConfiguration
public import WatchdogLinux
import WatchdogPolicy

/// What `watchdogd observe` watches, as the command line describes it.
public struct ObserveConfiguration: Sendable {
    /// What follows the report of a hang.
    public enum Consequence: String, Hashable, Sendable, CaseIterable {
        /// Nothing: the service continues.
        case report
        /// systemd is asked to restart the service.
        case restartUnit = "restart-unit"
    }

    /// What is observed, without repetitions.
    public var targets: [ObservedTarget]
    /// The service manager that knows the services.
    public var manager = ServiceBus.Manager.system
    /// How the target is probed; nil if it is judged by `WatchdogSec=` alone.
    public var probe: ProbeSettings?
    /// What follows the report of a hang.
    public var consequence = Consequence.report
    /// The directory for reports; nil for the user's default.
    public var reportsDirectory: String?
    /// Whether reports are printed on standard error, and no file is written.
    public var printsReports = false
    /// How much is printed on stderr.
    public var verbosity = RunConfiguration.Verbosity.normal
    /// How messages on standard error are written.
    public var logFormat = LogFormat.text
    /// How long to observe; nil for until SIGINT or SIGTERM.
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
