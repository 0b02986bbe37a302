// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogReport

/// The JSON object of `watchdogd organizer --json`; times are in seconds since 1970 in UTC, durations in microseconds.
///
/// Members without a value are omitted.
public struct OrganizerReply: Encodable, Sendable {
    private struct HangRate: Encodable {
        var secondsPerHour: Double?
        var hours: Double?
        var hangsPerDay: Double?
        var days: Double?

        init(_ rate: OrganizerTable.HangRate) {
            switch rate {
            case .secondsPerHour(let rate, let hours):
                (secondsPerHour, self.hours) = (OrganizerReply.rounded(rate), OrganizerReply.rounded(hours))
            case .hangsPerDay(let rate, let days):
                (hangsPerDay, self.days) = (OrganizerReply.rounded(rate), OrganizerReply.rounded(days))
            }
        }
    }

    private struct Launches: Encodable {
        let count: Int
        let notReady: Int?
        let p25USec: Int64?
        let p50USec: Int64?
        let p75USec: Int64?
        let p90USec: Int64?

        init(_ launches: OrganizerTable.Launches) {
            count = launches.count
            notReady = launches.failures
            let microseconds = { (duration: Duration?) in duration.map { $0.nanoseconds / 1_000 } }
            p25USec = microseconds(launches.p25)
            p50USec = microseconds(launches.p50)
            p75USec = microseconds(launches.p75)
            p90USec = microseconds(launches.p90)
        }
    }

    private struct Version: Encodable {
        let version: String
        let isLatest: Bool
        let first: Int64
        let last: Int64
        let incidents: Int
        let hosts: Int
        let hangRate: HangRate?
        let launches: Launches?

        init(_ version: OrganizerTable.Version) {
            self.version = version.name
            isLatest = version.isLatest
            first = version.first
            last = version.last
            incidents = version.incidents
            hosts = version.hosts
            hangRate = version.hangRate.map(HangRate.init)
            launches = version.launches.map(Launches.init)
        }
    }

    private struct Termination: Encodable {
        let cause: String
        let event: String?
        let foreground: Int
        let background: Int
        let unknown: Int

        init(_ termination: OrganizerTable.Termination) {
            cause = termination.cause
            event = termination.event.isEmpty ? nil : termination.event
            foreground = termination.foreground
            background = termination.background
            unknown = termination.unknown
        }
    }

    private struct Signature: Encodable {
        let signature: String
        let event: String
        let cause: String
        let frames: [String]
        let incidents: Int
        let incidentsInLatest: Int
        let first: Int64
        let last: Int64
        let newest: String
        let firstVersion: String?
        let isNew: Bool
        let increase: Increase?

        struct Increase: Encodable {
            let ratio: Double
            let p: Double
        }

        init(_ signature: OrganizerTable.Signature) {
            self.signature = signature.id
            event = signature.event
            cause = signature.cause
            frames = signature.frames
            incidents = signature.incidents
            incidentsInLatest = signature.incidentsInLatest
            first = signature.first
            last = signature.last
            newest = signature.newest
            firstVersion = signature.firstVersion
            isNew = signature.isNew
            increase = signature.increase.map {
                Increase(ratio: OrganizerReply.rounded($0.ratio), p: OrganizerReply.significant($0.p))
            }
        }
    }

    private struct Host: Encodable {
        let host: String
        let incidents: Int
        let hangs: Int
        let versions: [Count]

        struct Count: Encodable {
            let version: String
            let incidents: Int
        }

        init(_ host: OrganizerTable.Host) {
            self.host = host.name
            incidents = host.incidents
            hangs = host.hangs
            versions = host.versions.map { Count(version: $0.name, incidents: $0.incidents) }
        }
    }

    private struct App: Encodable {
        let app: String
        let incidents: Int
        let hostCount: Int
        let versions: [Version]
        let terminations: [Termination]
        let terminationsFrom: String
        let signatures: [Signature]
        let otherSignatures: Int
        let hosts: [Host]
        let otherHosts: Int
        let comparedBy: String?

        init(_ app: OrganizerTable.App) {
            self.app = app.name
            incidents = app.incidents
            hostCount = app.hostCount
            versions = app.versions.map(Version.init)
            terminations = app.terminations.map(Termination.init)
            terminationsFrom = app.hasHistory ? "history" : "reports"
            signatures = app.signatures.map(Signature.init)
            otherSignatures = app.otherSignatures
            hosts = app.hosts.map(Host.init)
            otherHosts = app.otherHosts
            comparedBy = app.exposure?.rawValue
        }
    }

    private let apps: [App]
    private let otherApps: Int
    private let incidents: Int
    private let repetitions: Int
    private let tests: Int
    private let falseAlarms: Double
    private let isLimited: Bool

    /// Creates the reply for a table, in the same order.
    public init(_ table: OrganizerTable) {
        apps = table.apps.map(App.init)
        otherApps = table.otherApps
        incidents = table.incidents
        repetitions = table.repetitions
        tests = table.tests
        falseAlarms = OrganizerTable.falseAlarms
        isLimited = table.isLimited
    }

    /// The JSON, with sorted keys and a final newline.
    public var json: String { JSONText.of(self) }

    /// Three significant digits: more could differ between math libraries.
    private static func significant(_ p: Double) -> Double {
        guard p > 1e-300 else { return 0 }
        let scale = pow(10, 2 - log10(p).rounded(.down))
        return (p * scale).rounded() / scale
    }

    /// Six digits after the decimal point; JSON has no infinity.
    private static func rounded(_ value: Double) -> Double {
        value.isFinite && value.magnitude < 1e12 ? (value * 1e6).rounded() / 1e6 : 0
    }
}
