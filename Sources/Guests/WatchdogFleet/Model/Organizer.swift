// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// An hour in which a signature occurred in a version on a host.
struct Episode: Hashable {
    let app: Int32
    let signature: Int32
    let version: Int32
    let host: Int32
    let hour: Int32
}

/// Counts the incidents, launches, hangs and ends of many hosts, in any order, without storing them.
///
/// Memory is bounded for any input: names beyond the limits are counted together as ``others``.
///
/// Isolation: one thread at a time.
public final class Organizer {
    /// The limits of the organizer's memory.
    public struct Limits: Sendable {
        /// The maximum number of apps.
        public var apps = 200
        /// The maximum number of versions of an app.
        public var versions = 100
        /// The maximum number of hosts of an app.
        public var hosts = 2_000
        /// The maximum number of signatures of all apps.
        public var signatures = 50_000
        /// The maximum number of pairs of a host and a version of all apps.
        public var places = 200_000
        /// The maximum number of incidents for the detection of repetitions.
        public var incidents = 2_000_000

        /// Creates the default limits.
        public init() {}
    }

    /// The collective name of everything beyond a limit.
    public static let others = "others"
    /// The name of an unknown version or host.
    public static let unknown = "unknown"

    /// The latest accepted time.
    private let latest: Int64
    let limits: Limits
    private(set) var apps: [String: AppTally] = [:]
    private var seen: Set<UInt64> = []
    private(set) var episodes: Set<Episode> = []
    private var signatures = 0
    private var places = 0
    /// The number of counted incidents.
    public private(set) var incidents = 0
    /// The number of repeated incidents, which were not counted again.
    public private(set) var repetitions = 0
    /// Whether some names are counted together.
    public internal(set) var isLimited = false

    /// Creates an empty organizer.
    ///
    /// - Parameter now: the current time; data from more than a day later is rejected.
    public init(now: WallTime, limits: Limits = Limits()) {
        latest = now.seconds + 86_400
        self.limits = limits
    }

    /// Counts an incident; a repeated one counts only as a repetition.
    ///
    /// - Returns: false if its time is in the future or before 1970.
    @discardableResult
    public func add(_ incident: OrganizerIncident) -> Bool {
        guard (0...latest).contains(incident.time) else { return false }
        if !incident.incident.isEmpty, seen.count < limits.incidents {
            guard seen.insert(Self.hash(of: incident.incident)).inserted else {
                repetitions += 1
                return true
            }
        }
        let count = min(max(1, incident.count), 1_000_000_000)
        incidents = incidents.addingSaturated(count)
        let app = tally(of: incident.app)
        app.add(count, of: incident)
        let version = app.version(Self.known(incident.version))
        let host = app.host(Self.known(incident.host))
        let signature = app.signature(of: incident, mayCreate: signatures < limits.signatures)
        if signature.isNew { signatures += 1 }
        isLimited = isLimited || app.isLimited
        let hour = incident.time / 3_600
        app.versions[version].add(incident, count)
        app.hosts[host].add(count, version: version, isHang: incident.isHang)
        app.signatures[signature.index].add(incident, count, version: version)
        let episode = Episode(
            app: app.number, signature: Int32(signature.index), version: Int32(version), host: Int32(host),
            hour: Int32(clamping: hour))
        guard episodes.count < limits.incidents,
            let isNewPlace = app.see(version: version, host: host, hour: hour, mayCreate: places < limits.places)
        else { return true }
        if isNewPlace { places += 1 }
        episodes.insert(episode)
        return true
    }

    /// Counts the events of an app in a host's history.
    ///
    /// For an app that is running at the end, the time until its last event counts.
    ///
    /// - Parameter events: in order of time.
    public func add(_ events: [OrganizerEvent], of name: String) {
        guard let end = events.last?.time else { return }
        let app = tally(of: name)
        var running = RunningTime()
        for event in events {
            switch event {
            case .launch(let time, let version, let host, let duration):
                let version = app.historyVersion(Self.known(version))
                app.launches[version, default: AppTally.Launches()].add(duration, at: time)
                running.launched(at: time, version: version, host: Self.known(host))
            case .other: break
            case .hang(let time, let version, let duration):
                app.launches[app.historyVersion(Self.known(version)), default: AppTally.Launches()].add(
                    hang: duration, at: time)
            case .termination(let time, let version, let reason, let event, let isForeground):
                app.add(end: reason, event ?? "", isForeground ? .foreground : .background)
                app.launches[app.historyVersion(Self.known(version)), default: AppTally.Launches()].see(time)
                running.ended(at: time)
            }
        }
        running.ended(at: end)
        for (place, seconds) in running.seconds { app.add(seconds, of: place) }
    }

    /// Adds a version's running, hang and launch times on all hosts, which histories of single hosts do not cover.
    func add(_ rate: PrometheusRates.Rate) {
        let app = tally(of: rate.app)
        let version = app.historyVersion(Self.known(rate.version))
        app.launches[version, default: AppTally.Launches()].add(
            AppTally.Fleet(hanging: rate.hanging, running: rate.running, launches: rate.launches), since: rate.first)
        isLimited = isLimited || app.isLimited
    }

    private func tally(of name: String) -> AppTally {
        if let known = apps[name] { return known }
        let name = apps.count < limits.apps ? name : Self.others
        if let known = apps[name] { return known }
        if name == Self.others { isLimited = true }
        let tally = AppTally(number: Int32(apps.count), limits)
        apps[name] = tally
        return tally
    }

    private static func known(_ name: String) -> String { name.isEmpty ? unknown : name }

    /// A non-cryptographic hash suffices for accidental repetitions; a forged collision hides only the forger's own
    /// incidents.
    private static func hash(of text: String) -> UInt64 {
        var text = text
        var hash = FNV1a()
        text.withUTF8 { hash.combine(UnsafeRawBufferPointer($0)) }
        return hash.value
    }
}
