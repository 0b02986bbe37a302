// SPDX-License-Identifier: Apache-2.0

/// The data that the organizer shows.
///
/// Times are seconds since 1970 in UTC.
public struct OrganizerTable: Equatable, Sendable {
    /// The rate of hangs of the main loop.
    public enum HangRate: Equatable, Sendable {
        /// Seconds of hangs per hour of running time, and the running time in hours.
        case secondsPerHour(Double, hours: Double)
        /// Hangs per day from the version's first incident to its last, and the number of days.
        case hangsPerDay(Double, days: Double)
    }

    /// The launches of a version: data from histories is accurate to 1/16, data from Prometheus to its buckets.
    public struct Launches: Equatable, Sendable {
        /// The number of launches.
        public let count: Int
        /// The number of launches that never became ready; nil if unknown.
        public let failures: Int?
        /// The first quartile; nil if none became ready.
        public let p25: Duration?
        /// The median.
        public let p50: Duration?
        /// The third quartile.
        public let p75: Duration?
        /// The 90th percentile.
        public let p90: Duration?
    }

    /// A version of an app.
    public struct Version: Equatable, Sendable {
        /// The name of the version.
        public let name: String
        /// Whether it is the latest.
        public let isLatest: Bool
        /// The time of its first incident, launch, hang or end.
        public let first: Int64
        /// The time of its last one.
        public let last: Int64
        /// The number of its incidents.
        public let incidents: Int
        /// The number of hosts on which it had incidents.
        public let hosts: Int
        /// Its hangs; nil if unknown.
        public let hangRate: HangRate?
        /// Its launches; nil if unknown.
        public let launches: Launches?
    }

    /// Ends of processes with one cause.
    public struct Termination: Equatable, Sendable {
        /// The cause: a class of the history, or `watchdog` or `crash` from reports.
        public let cause: String
        /// The watched event of a kill by watchdogd; empty for other ends.
        public let event: String
        /// The number of ends in the foreground.
        public let foreground: Int
        /// The number of ends in the background.
        public let background: Int
        /// The number of ends with an unknown role.
        public let unknown: Int

        /// The total.
        public var count: Int { foreground + background + unknown }
    }

    /// A signature that occurs more often than before.
    public struct Increase: Equatable, Sendable {
        /// The later rate divided by the earlier one.
        public let ratio: Double
        /// The probability of such a ratio by chance.
        public let p: Double
    }

    /// Incidents with the same signature.
    public struct Signature: Equatable, Sendable {
        /// The signature's ID.
        public let id: String
        /// The watched event.
        public let event: String
        /// The verdict in a few words.
        public let cause: String
        /// The app's innermost calls.
        public let frames: [String]
        /// The number of incidents.
        public let incidents: Int
        /// The number of incidents in the latest version.
        public let incidentsInLatest: Int
        /// The time of the first one.
        public let first: Int64
        /// The time of the last one.
        public let last: Int64
        /// The ID of the last one.
        public let newest: String
        /// The earliest version in which it occurred; nil if unknown.
        public let firstVersion: String?
        /// Whether the latest version is the first in which it occurred.
        public let isNew: Bool
        /// The increase of its rate in the latest version; nil if not significant.
        public let increase: Increase?
    }

    /// The counts of one app on a host.
    public struct Host: Equatable, Sendable {
        /// The name of the host.
        public let name: String
        /// The number of incidents.
        public let incidents: Int
        /// The number of incidents that were hangs.
        public let hangs: Int
        /// The numbers of incidents by version, in the order of the versions.
        public let versions: [(name: String, incidents: Int)]

        /// Whether all members are equal; tuples have no synthesized `==`.
        public static func == (left: Host, right: Host) -> Bool {
            left.name == right.name && left.incidents == right.incidents && left.hangs == right.hangs
                && left.versions.elementsEqual(right.versions) { $0.name == $1.name && $0.incidents == $1.incidents }
        }
    }

    /// The incidents of a day in UTC.
    public struct Day: Equatable, Sendable {
        /// The number of the day since 1970.
        public let day: Int64
        /// The number of incidents of earlier and unknown versions.
        public let before: Int
        /// The number of incidents of the latest version.
        public let latest: Int
    }

    /// The kind of exposure, the time in which a version could have had incidents.
    public enum Exposure: String, Sendable {
        /// Its running time, from histories.
        case running
        /// The hours between its first and its last incident on each host.
        case sightings
    }

    /// An app.
    public struct App: Equatable, Sendable {
        /// The name of the app.
        public let name: String
        /// The number of its incidents.
        public let incidents: Int
        /// The number of hosts with incidents.
        public let hostCount: Int
        /// Its versions, the earliest first.
        public let versions: [Version]
        /// The ends of its processes, the most frequent first.
        public let terminations: [Termination]
        /// Whether ``terminations`` are from histories; otherwise, they are from reports.
        public let hasHistory: Bool
        /// Its signatures: those with marks first, then the most frequent.
        public let signatures: [Signature]
        /// The number of signatures that are not listed.
        public let otherSignatures: Int
        /// Its hosts, the one with the most incidents first.
        public let hosts: [Host]
        /// The number of hosts that are not listed.
        public let otherHosts: Int
        /// Days in order, from the first incident to the last; none without incidents.
        public let days: [Day]
        /// The exposure for comparing rates; nil if they cannot be compared.
        public let exposure: Exposure?

        /// The latest version, if its name is known and there are earlier ones.
        public var latest: Version? { versions.first(where: \.isLatest) }
    }

    /// The probability of at least one false mark of a more frequent signature.
    public static let falseAlarms = 0.01
    /// The minimum ratio for a mark: an increase by half.
    public static let smallestRatio = 1.5

    /// The number of all incidents.
    public let incidents: Int
    /// The number of repetitions: incidents from several sources, which were counted once.
    public let repetitions: Int
    /// Whether some names are counted together.
    public let isLimited: Bool
    /// The number of tested signatures.
    public let tests: Int
    /// The apps, the one with the most incidents first.
    public let apps: [App]
    /// The number of apps that are not listed.
    public let otherApps: Int
}
