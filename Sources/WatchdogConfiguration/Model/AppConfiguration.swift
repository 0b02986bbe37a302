// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// All that is configured of an app, with nothing left to be read but environment files.
///
/// Two configurations are equal when the app need not be touched to go from one to the other.
public struct AppConfiguration: Hashable, Sendable {
    /// The app's name.
    public var name: AppName
    /// `Enabled=`: whether the daemon launches the app when it starts.
    public var isEnabled = true
    /// The section `[App]`.
    public var program: ProgramSettings
    /// The section `[Watchdog]`.
    @Shared public var watchdog = WatchdogSettings()
    /// The section `[Restart]`.
    @Shared public var restart = RestartSettings()

    /// Creates the default configuration of a program.
    public init(name: AppName, command: Command) {
        self.name = name
        program = ProgramSettings(command: command)
    }

    /// Keeps what is the same as in another configuration only once: most apps have the defaults, or those of their host.
    public mutating func share(with other: AppConfiguration) {
        $watchdog.share(with: other.$watchdog)
        $restart.share(with: other.$restart)
    }

    /// Whether a process that was launched with another configuration can go on with this one: what differs concerns its
    /// reloads, its reports, what follows its end, or people.
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
        return part
    }

    /// How long a reload may take; ``WatchdogSettings/timeScale`` has been applied.
    public var reloadAllowance: Duration {
        max(.milliseconds(1), watchdog.reloadAllowance * watchdog.timeScale)
    }

    /// What the policy has to know of the app; ``WatchdogSettings/timeScale`` has been applied.
    public var spec: AppSpec {
        var fairness = Fairness()
        fairness.extensionCap = watchdog.extensionCap
        fairness.allowsBlindExtension = watchdog.allowsBlindExtension
        var spec = AppSpec(
            name: name.description,
            allowances: watchdog.allowances,
            pingInterval: watchdog.pingInterval,
            readiness: watchdog.readiness.readiness,
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
        case .probe: spec.probeInterval = min(.milliseconds(250), watchdog.probe?.interval ?? .milliseconds(250))
        case .automatic, .channel, .notify, .listening, .none: break
        }
        return spec.scaled(by: watchdog.timeScale)
    }
}
