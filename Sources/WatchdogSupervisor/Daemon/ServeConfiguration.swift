// SPDX-License-Identifier: Apache-2.0

/// What the command line says of a daemon.
public struct ServeConfiguration: Sendable {
    /// Where it finds and leaves its files.
    public var places: DaemonPlaces
    /// Whether the configuration directory was named: then it has to exist.
    public var isDirectoryNamed: Bool
    /// How much is told on stderr.
    public var verbosity: RunConfiguration.Verbosity

    /// Creates a configuration.
    public init(places: DaemonPlaces, isDirectoryNamed: Bool, verbosity: RunConfiguration.Verbosity = .normal) {
        self.places = places
        self.isDirectoryNamed = isDirectoryNamed
        self.verbosity = verbosity
    }
}
