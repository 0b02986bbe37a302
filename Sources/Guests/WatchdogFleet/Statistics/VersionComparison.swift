// SPDX-License-Identifier: Apache-2.0

/// Compares the latest version of an app with all earlier ones.
struct VersionComparison {
    /// All versions; those without a place in the order come last.
    let order: [String]
    /// The ordered versions, the earliest first.
    let ordered: [String]
    /// The latest version; nil without earlier ones.
    let latest: String?
    /// The exposure used by the tests; nil without one.
    let exposure: OrganizerTable.Exposure?
    /// A test for each signature; nil if it cannot be tested.
    let tests: [RateTest?]

    /// The exposures of the versions on a host, in hours.
    private struct Hours {
        var before = 0.0
        var after = 0.0
    }

    private struct Pair: Hashable {
        let signature: Int32
        let host: Int32
    }

    init(_ tally: AppTally, _ episodes: [Episode]) {
        var first: [String: Int64] = [:]
        for version in tally.versions { first[version.name] = version.first }
        for (name, launches) in tally.launches { first[name] = min(first[name] ?? .max, launches.first) }
        let special = [Organizer.unknown, Organizer.others]
        ordered = VersionOrder.sorted(
            first.filter { !special.contains($0.key) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        order = ordered + special.filter { first[$0] != nil }
        latest = ordered.count > 1 ? ordered.last : nil
        guard let latest else {
            exposure = nil
            tests = tally.signatures.map { _ in nil }
            return
        }
        let earlier = Set(ordered.dropLast())
        let running = Self.runningHours(tally, latest, earlier)
        // Use running times only if all hosts with incidents have them.
        let isRunning = !tally.hosts.isEmpty && tally.hosts.allSatisfy { running[$0.name] != nil }
        let (later, former) = (
            tally.versionNumbers[latest], Set(earlier.compactMap { tally.versionNumbers[$0] })
        )
        var hours = [Hours](repeating: Hours(), count: tally.hosts.count)
        if isRunning {
            for (number, host) in tally.hosts.enumerated() { hours[number] = running[host.name] ?? Hours() }
        } else {
            for (place, sightings) in tally.sightings {
                if place.version == later {
                    hours[place.host].after += Double(sightings.hours)
                } else if former.contains(place.version) {
                    hours[place.host].before += Double(sightings.hours)
                }
            }
        }
        let isComparable = hours.contains { $0.before > 0 && $0.after > 0 }
        exposure = isComparable ? (isRunning ? .running : .sightings) : nil
        var counts: [Pair: RateTest.Host] = [:]
        for episode in episodes {
            let (version, host) = (Int(episode.version), Int(episode.host))
            let isLater = version == later
            guard isLater || former.contains(version) else { continue }
            let place = AppTally.Place(version: version, host: host)
            guard isRunning || tally.sightings[place]?.contains(Int64(episode.hour)) == true else { continue }
            let none = RateTest.Host(
                before: 0, after: 0, exposureBefore: hours[host].before, exposureAfter: hours[host].after)
            let pair = Pair(signature: episode.signature, host: episode.host)
            if isLater { counts[pair, default: none].after += 1 } else { counts[pair, default: none].before += 1 }
        }
        var hosts = [[RateTest.Host]](repeating: [], count: tally.signatures.count)
        for (pair, host) in counts { hosts[Int(pair.signature)].append(host) }
        tests = zip(tally.signatures, hosts).map { signature, hosts in
            // Sum in a fixed order, so that rounding does not depend on the order of the incidents.
            signature.id == Organizer.others ? nil : RateTest(hosts.sorted(by: Self.precedes))
        }
    }

    private static func precedes(_ left: RateTest.Host, _ right: RateTest.Host) -> Bool {
        (left.before, left.after, left.exposureBefore, left.exposureAfter)
            < (right.before, right.after, right.exposureBefore, right.exposureAfter)
    }

    /// The running times in hours on each host, from histories.
    private static func runningHours(
        _ tally: AppTally, _ latest: String, _ earlier: Set<String>
    ) -> [String: Hours] {
        var hours: [String: Hours] = [:]
        for (place, seconds) in tally.running {
            let time = Double(seconds) / 3_600
            if place.version == latest {
                hours[place.host, default: Hours()].after += time
            } else if earlier.contains(place.version) {
                hours[place.host, default: Hours()].before += time
            }
        }
        return hours
    }
}
