// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// The complete configuration of an app, except for the contents of environment files.
///
/// Two configurations are equal if switching between them does not affect the app.
public struct AppConfiguration: Hashable, Sendable {
    /// The app's name.
    public var name: AppName
    /// `Enabled=`: whether the daemon launches the app when it starts.
    public var isEnabled = true
    /// `Observe=`: what to observe instead of launching a program; nil if watchdogd launches one.
    public var observed: ObservedSettings?
    /// The section `[App]`.
    @Shared public var program: ProgramSettings
    /// The section `[Watchdog]`.
    @Shared public var watchdog = WatchdogSettings()
    /// The section `[Restart]`.
    @Shared public var restart = RestartSettings()

    /// Creates the default configuration of a program.
    public init(name: AppName, command: Command) {
        self.name = name
        _program = Shared(wrappedValue: ProgramSettings(command: command))
    }

    /// The same configuration, which shares the storage of values that are equal in another one: most apps have the
    /// defaults, or those of their host, and instances of a template often run the same command.
    public func sharing(with other: AppConfiguration?) -> AppConfiguration {
        guard let other else { return self }
        var copy = self
        copy.$program.share(with: other.$program)
        copy.$watchdog.share(with: other.$watchdog)
        copy.$restart.share(with: other.$restart)
        return copy
    }

    /// Whether a process that was launched with another configuration can continue with this one.
    ///
    /// It can if the differences only concern reloads, reports, what follows the app's end, or texts for people.
    public func allowsProcess(of other: AppConfiguration) -> Bool {
        processPart == other.processPart
    }

    private var processPart: AppConfiguration {
        var part = self
        part.isEnabled = true
        part.restart = RestartSettings()
        part.program.description = nil
        part.program.reloadCommands = []
        part.watchdog.reloadAllowance = .zero
        part.watchdog.reportAge = nil
        part.watchdog.keepsStacks = false
        part.watchdog.incidentHook = nil
        part.watchdog.reportsInJournal = true
        return part
    }

    /// The allowance for a reload, with ``WatchdogSettings/timeScale`` applied.
    public var reloadAllowance: Duration {
        max(.milliseconds(1), watchdog.reloadAllowance * watchdog.timeScale)
    }

    /// The spec for the policy, with ``WatchdogSettings/timeScale`` applied.
    public var spec: AppSpec {
        var fairness = Fairness()
        fairness.extensionCap = watchdog.extensionCap
        fairness.allowsBlindExtension = watchdog.allowsBlindExtension
        var spec = AppSpec(
            name: name.description,
            allowances: watchdog.allowances,
            pingInterval: watchdog.pingInterval,
            readiness: observed == nil ? watchdog.readiness.readiness : .none,
            enforcement: watchdog.enforcement,
            fairness: fairness
        )
        spec.lifecycle = watchdog.lifecycle
        spec.livenessProbe = watchdog.probe?.probe
        spec.observationDelay = min(.seconds(1), watchdog.hangReports ?? .seconds(1))
        spec.hangReportThreshold = watchdog.hangReports
        spec.crashReports = watchdog.crashReports
        switch watchdog.readiness {
        case .command: spec.probeInterval = .milliseconds(250)
        case .probe, .automatic:
            if let probe = watchdog.probe { spec.probeInterval = min(.milliseconds(250), probe.interval) }
        case .channel, .notify, .listening, .none: break
        }
        return spec.scaled(by: watchdog.timeScale)
    }
}
