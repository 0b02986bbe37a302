// SPDX-License-Identifier: Apache-2.0

/// What the organizer shows.
///
/// Times are seconds since 1970 in UTC.
public struct OrganizerTable: Equatable, Sendable {
    /// How often the main loop did not answer.
    public enum HangRate: Equatable, Sendable {
        /// Seconds of hangs for each hour that the app ran, and these hours.
        case secondsPerHour(Double, hours: Double)
        /// Hangs for each day from the version's first incident to its last, and these days.
        case hangsPerDay(Double, days: Double)
    }

    /// The launches of a version: what histories tell is accurate to 1/16, what Prometheus tells to its buckets.
    public struct Launches: Equatable, Sendable {
        /// How many there were.
        public let count: Int
        /// How many never became ready; nil if that is not known.
        public let failures: Int?
        /// The time that a quarter did not exceed; nil if none became ready.
        public let p25: Duration?
        /// The time that half did not exceed.
        public let p50: Duration?
        /// The time that three quarters did not exceed.
        public let p75: Duration?
        /// The time that nine of ten did not exceed.
        public let p90: Duration?
    }

    /// A version of an app.
    public struct Version: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// Whether it is the latest.
        public let isLatest: Bool
        /// Its first incident, launch, hang or end.
        public let first: Int64
        /// Its last one.
        public let last: Int64
        /// Its incidents.
        public let incidents: Int
        /// The hosts on which it had incidents.
        public let hosts: Int
        /// Its hangs; nil if nothing is known.
        public let hangRate: HangRate?
        /// Its launches; nil if nothing is known.
        public let launches: Launches?
    }

    /// Ends of processes with one cause.
    public struct Termination: Equatable, Sendable {
        /// The cause: a class of the history, or what reports say: `watchdog` or `crash`.
        public let cause: String
        /// What watchdogd killed it for; empty if it did not.
        public let event: String
        /// In the foreground.
        public let foreground: Int
        /// In the background.
        public let background: Int
        /// The place is unknown.
        public let unknown: Int

        /// All of them.
        public var count: Int { foreground + background + unknown }
    }

    /// A signature that occurs more often than before.
    public struct Increase: Equatable, Sendable {
        /// The later rate divided by the earlier one.
        public let ratio: Double
        /// The probability of it if nothing had changed.
        public let p: Double
    }

    /// Incidents with the same signature.
    public struct Signature: Equatable, Sendable {
        /// The signature's ID.
        public let id: String
        /// What the app was watched for.
        public let event: String
        /// The verdict in a few words.
        public let cause: String
        /// The app's innermost calls.
        public let frames: [String]
        /// How many there were.
        public let incidents: Int
        /// How many there were in the latest version.
        public let incidentsInLatest: Int
        /// The first one.
        public let first: Int64
        /// The last one.
        public let last: Int64
        /// The last one's ID.
        public let newest: String
        /// The earliest version in which it occurred; nil if no version is known.
        public let firstVersion: String?
        /// Whether the latest version is the first in which it occurred.
        public let isNew: Bool
        /// How much more often it occurs in the latest version; nil if that is not proven.
        public let increase: Increase?
    }

    /// A host, for one app.
    public struct Host: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// Its incidents.
        public let incidents: Int
        /// Those that were hangs.
        public let hangs: Int
        /// Incidents by version, in the order of the versions.
        public let versions: [(name: String, incidents: Int)]

        /// Compares all members.
        public static func == (left: Host, right: Host) -> Bool {
            left.name == right.name && left.incidents == right.incidents && left.hangs == right.hangs
                && left.versions.elementsEqual(right.versions) { $0.name == $1.name && $0.incidents == $1.incidents }
        }
    }

    /// The incidents of a day in UTC.
    public struct Day: Equatable, Sendable {
        /// The number of the day since 1970.
        public let day: Int64
        /// Incidents of earlier and unknown versions.
        public let before: Int
        /// Incidents of the latest version.
        public let latest: Int
    }

    /// How long a version could have had incidents.
    public enum Exposure: String, Sendable {
        /// How long it ran, as histories tell.
        case running
        /// The hours between its first and its last incident on each host.
        case sightings
    }

    /// An app.
    public struct App: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// Its incidents.
        public let incidents: Int
        /// How many hosts had incidents.
        public let hostCount: Int
        /// Its versions, the earliest first.
        public let versions: [Version]
        /// How its processes ended, the most frequent first.
        public let terminations: [Termination]
        /// Whether ``terminations`` are what histories tell; otherwise they are what reports tell.
        public let hasHistory: Bool
        /// Its signatures: those with marks first, then the most frequent.
        public let signatures: [Signature]
        /// The signatures that are not listed.
        public let otherSignatures: Int
        /// Its hosts, the one with the most incidents first.
        public let hosts: [Host]
        /// The hosts that are not listed.
        public let otherHosts: Int
        /// Days in order, from the first incident to the last; none without incidents.
        public let days: [Day]
        /// What rates are compared by; nil if they cannot be compared.
        public let exposure: Exposure?

        /// The latest version, if its name is known and there are earlier ones.
        public var latest: Version? { versions.first(where: \.isLatest) }
    }

    /// The probability that any signature is marked as more frequent although nothing has changed.
    public static let falseAlarms = 0.01
    /// The smallest change that is marked: half as many again.
    public static let smallestRatio = 1.5

    /// All incidents.
    public let incidents: Int
    /// Incidents that were in several sources and were counted once.
    public let repetitions: Int
    /// Whether some names are counted together.
    public let isLimited: Bool
    /// How many signatures were tested.
    public let tests: Int
    /// The apps, the one with the most incidents first.
    public let apps: [App]
    /// How many apps are not listed.
    public let otherApps: Int
}
