// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The counts of one app.
///
/// Isolation: its organizer's.
final class AppTally {
    /// A kind of end, with separate counts for foreground and background.
    struct End: Hashable {
        let reason: String
        let event: String
        let role: OrganizerIncident.Role
    }

    /// A version on a host.
    struct Place: Hashable {
        let version: Int
        let host: Int
    }

    /// The maximum number of kinds of ends with their own entries.
    private static let endLimit = 1_000

    let number: Int32
    private let limits: Organizer.Limits
    private(set) var versionNumbers: [String: Int] = [:]
    private(set) var hostNumbers: [String: Int] = [:]
    private var signatureNumbers: [String: Int] = [:]
    var versions: [VersionTally] = []
    var hosts: [HostTally] = []
    var signatures: [SignatureTally] = []
    private(set) var sightings: [Place: Sightings] = [:]
    private(set) var isLimited = false
    private(set) var incidents = 0

    /// The launches from histories, by version.
    var launches: [String: Launches] = [:]
    /// The running time in seconds, from histories.
    private(set) var running: [RunningTime.Place: Int64] = [:]
    /// The ends from histories.
    private(set) var ends: [End: Int] = [:]
    private(set) var reportedEnds: [End: Int] = [:]

    init(number: Int32, _ limits: Organizer.Limits) {
        self.number = number
        self.limits = limits
    }

    func add(_ count: Int, of incident: OrganizerIncident) {
        incidents = incidents.addingSaturated(count)
        guard incident.isTermination else { return }
        let isCrash = incident.event == "crash"
        let end = End(
            reason: isCrash ? "crash" : "watchdog", event: isCrash ? "" : incident.event, role: incident.role)
        Self.add(count, end, to: &reportedEnds)
    }

    // MARK: - Names

    func version(_ name: String) -> Int {
        number(of: name, in: &versionNumbers, limit: limits.versions) { versions.append(VersionTally(name: $0)) }
    }

    func host(_ name: String) -> Int {
        number(of: name, in: &hostNumbers, limit: limits.hosts) { hosts.append(HostTally(name: $0)) }
    }

    func signature(of incident: OrganizerIncident, mayCreate: Bool) -> (index: Int, isNew: Bool) {
        let count = signatures.count
        let limit = mayCreate ? Int.max : 0
        let index = number(of: incident.signature, in: &signatureNumbers, limit: limit) { name in
            signatures.append(
                name == incident.signature ? SignatureTally(incident) : SignatureTally.others)
        }
        return (index, signatures.count > count)
    }

    /// The index of a name; beyond the limit, the index of the others.
    private func number(
        of name: String, in numbers: inout [String: Int], limit: Int, create: (String) -> Void
    ) -> Int {
        if let known = numbers[name] { return known }
        let name = numbers.count < limit ? name : Organizer.others
        if name == Organizer.others { isLimited = true }
        if let known = numbers[name] { return known }
        let number = numbers.count
        numbers[name] = number
        create(name)
        return number
    }

    // MARK: - Sightings

    /// Records the place and the time of an incident.
    ///
    /// - Returns: whether the place is new; nil if it is beyond the limit, and therefore not compared.
    func see(version: Int, host: Int, hour: Int64, mayCreate: Bool) -> Bool? {
        let place = Place(version: version, host: host)
        if sightings[place]?.add(hour: hour) != nil { return false }
        guard mayCreate else { return nil }
        sightings[place] = Sightings(hour: hour)
        return true
    }

    // MARK: - Histories

    /// The version for the counts of a history's entry.
    func historyVersion(_ name: String) -> String {
        if launches[name] != nil || launches.count < limits.versions { return name }
        isLimited = true
        return Organizer.others
    }

    /// Adds seconds of running; those of hosts beyond the limit are not compared.
    func add(_ seconds: Int64, of place: RunningTime.Place) {
        launches[place.version, default: Launches()].running += seconds
        if running[place] != nil || running.count < limits.hosts * 4 { running[place, default: 0] += seconds }
    }

    func add(end reason: String, _ event: String, _ role: OrganizerIncident.Role) {
        Self.add(1, End(reason: reason, event: event, role: role), to: &ends)
    }

    private static func add(_ count: Int, _ end: End, to ends: inout [End: Int]) {
        let isKnown = ends[end] != nil || ends.count < endLimit
        let end = isKnown ? end : End(reason: Organizer.others, event: "", role: end.role)
        ends[end] = (ends[end] ?? 0).addingSaturated(count)
    }
}

/// The counts of a version.
struct VersionTally {
    let name: String
    private(set) var incidents = 0
    private(set) var hangs = 0
    private(set) var first = Int64.max
    private(set) var last = Int64.min
    /// The numbers of incidents by day since 1970.
    private(set) var days: [Int64: Int] = [:]

    /// The maximum number of days with their own entries.
    private static let dayLimit = 4_000

    init(name: String) { self.name = name }

    mutating func add(_ incident: OrganizerIncident, _ count: Int) {
        incidents = incidents.addingSaturated(count)
        if incident.isHang { hangs = hangs.addingSaturated(count) }
        first = min(first, incident.time)
        last = max(last, incident.time)
        let day = incident.time / 86_400
        if days.count < Self.dayLimit || days[day] != nil { days[day, default: 0] += count }
    }
}

/// The counts of a host.
struct HostTally {
    let name: String
    private(set) var incidents = 0
    private(set) var hangs = 0
    private(set) var versions: [Int: Int] = [:]

    init(name: String) { self.name = name }

    mutating func add(_ count: Int, version: Int, isHang: Bool) {
        incidents = incidents.addingSaturated(count)
        if isHang { hangs = hangs.addingSaturated(count) }
        versions[version, default: 0] += count
    }
}

/// The counts of a signature.
struct SignatureTally {
    let id: String
    let event: String
    let cause: String
    let frames: [String]
    private(set) var incidents = 0
    private(set) var first = Int64.max
    private(set) var last = Int64.min
    /// The ID of the latest incident.
    private(set) var newest = ""
    /// The numbers of incidents by version.
    private(set) var versions: [Int: Int] = [:]

    init(_ incident: OrganizerIncident) {
        id = incident.signature
        event = incident.event
        cause = incident.cause
        frames = incident.frames
    }

    /// The signatures beyond the limit.
    static let others = SignatureTally(
        OrganizerIncident(
            time: 0, app: "", event: "", cause: "signatures counted together", signature: Organizer.others))

    mutating func add(_ incident: OrganizerIncident, _ count: Int, version: Int) {
        incidents = incidents.addingSaturated(count)
        first = min(first, incident.time)
        // Of equal times, the greater ID wins, so that the result does not depend on the order of input.
        if (incident.time, incident.incident) > (last, newest) { newest = incident.incident }
        last = max(last, incident.time)
        versions[version, default: 0] += count
    }
}

extension AppTally {
    /// A version's running time and hang time on all hosts, in seconds, and its launches.
    struct Fleet {
        var hanging = 0.0
        var running = 0.0
        var launches = LaunchBuckets()

        mutating func add(_ other: Fleet) {
            hanging += other.hanging
            running += other.running
            launches.add(other.launches)
        }
    }

    /// A version's data from histories and Prometheus.
    struct Launches {
        /// The data from Prometheus; nil if only histories have data.
        private(set) var fleet: Fleet?
        private(set) var count = 0
        private(set) var durations = LatencyHistogram()
        private(set) var hangs = 0
        private(set) var hangTime: Duration = .zero
        private(set) var first = Int64.max
        private(set) var last = Int64.min
        /// The running time in seconds.
        var running: Int64 = 0

        mutating func add(_ duration: Duration?, at time: Int64) {
            count += 1
            if let duration { durations.record(duration) }
            see(time)
        }

        mutating func add(_ other: Fleet, since first: Int64) {
            fleet = fleet ?? Fleet()
            fleet?.add(other)
            see(first)
        }

        mutating func add(hang: Duration, at time: Int64) {
            hangs += 1
            // Clamp implausible hangs to a year.
            hangTime += min(max(.zero, hang), .seconds(366 * 86_400))
            see(time)
        }

        mutating func see(_ time: Int64) {
            first = min(first, time)
            last = max(last, time)
        }
    }
}

/// The hours between the first and the last incident of a version on a host.
///
/// No source has the time of a version's installation. It was installed between its first and its last incident, and
/// the events between are independent of the two hours that delimit them. Events in the first and in the last hour do
/// not count, so that rates are unbiased.
struct Sightings: Sendable {
    private var first: Int64
    private var last: Int64

    init(hour: Int64) { (first, last) = (hour, hour) }

    mutating func add(hour: Int64) {
        first = min(first, hour)
        last = max(last, hour)
    }

    /// The number of hours between.
    var hours: Int64 { max(0, last - first - 1) }

    /// Whether an hour is strictly between.
    func contains(_ hour: Int64) -> Bool { first < hour && hour < last }
}
