// SPDX-License-Identifier: Apache-2.0

public import WatchdogLaunch

/// The command line of a daemon.
public struct ServeConfiguration: Sendable {
    /// Where its files are.
    public var places: DaemonPlaces
    /// Whether the configuration directory was given explicitly; then it must exist.
    public var isDirectoryNamed: Bool
    /// Where launches are kept; nil if none are.
    public var history: HistorySettings?
    /// Where metrics go.
    public var metrics: MetricsSettings
    /// Whether journal entries carry reports of apps whose `ReportsInJournal=` does not say no.
    public var reportsInJournal: Bool
    /// The file for the last kill, crash or failed launch of any app; nil for none.
    public var terminationMessage: String?
    /// The time from an engine's request to end the container to its kill; nil if it is not known.
    public var gracePeriod: Duration?
    /// How messages on standard error are written.
    public var logFormat = LogFormat.text
    /// How much is printed on stderr.
    public var verbosity: Verbosity

    /// Creates a configuration.
    public init(
        places: DaemonPlaces, isDirectoryNamed: Bool, history: HistorySettings? = nil,
        metrics: MetricsSettings = MetricsSettings(), reportsInJournal: Bool = true,
        verbosity: Verbosity = .normal
    ) {
        self.places = places
        self.isDirectoryNamed = isDirectoryNamed
        self.history = history
        self.metrics = metrics
        self.reportsInJournal = reportsInJournal
        self.verbosity = verbosity
    }
}
