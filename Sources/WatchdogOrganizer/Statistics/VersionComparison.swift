// SPDX-License-Identifier: Apache-2.0

/// Compares the latest version of an app with all that came before it.
struct VersionComparison {
    /// All versions; those that have no place in the order come last.
    let order: [String]
    /// The versions that have a place in the order, the earliest first.
    let ordered: [String]
    /// The latest version; nil if there are no earlier ones.
    let latest: String?
    /// What the tests compare by; nil if there is nothing to compare by.
    let exposure: OrganizerTable.Exposure?
    /// A test for each signature; nil where there is nothing to test.
    let tests: [RateTest?]

    init(_ tally: AppTally) {
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
        let earlier = ordered.dropLast()
        let running = { (name: String) in Double(tally.launches[name]?.running ?? 0) / 3_600 }
        let (ranBefore, ranAfter) = (earlier.map(running).reduce(0, +), running(latest))
        // Histories of some hosts say nothing of the others' incidents.
        let isWhole = tally.hosts.allSatisfy { tally.historyHosts.contains($0.name) }
        let sides = Sides(
            latest: tally.versionNumbers[latest], earlier: Set(earlier.compactMap { tally.versionNumbers[$0] }))
        if isWhole, ranBefore > 0, ranAfter > 0 {
            exposure = .running
            tests = tally.signatures.map { sides.test($0, edges: (0, 0), ranBefore, ranAfter) }
        } else {
            var hours = (before: 0.0, after: 0.0)
            var edges = [(before: Int, after: Int)](repeating: (0, 0), count: tally.signatures.count)
            for (place, sightings) in tally.sightings {
                if place.version == sides.latest {
                    hours.after += Double(sightings.hours)
                    for signature in sightings.edges { edges[signature].after += 1 }
                } else if sides.earlier.contains(place.version) {
                    hours.before += Double(sightings.hours)
                    for signature in sightings.edges { edges[signature].before += 1 }
                }
            }
            exposure = hours.before > 0 && hours.after > 0 ? .sightings : nil
            tests = tally.signatures.indices.map { index in
                sides.test(tally.signatures[index], edges: edges[index], hours.before, hours.after)
            }
        }
    }

    /// The numbers of the versions that are compared.
    private struct Sides {
        let latest: Int?
        let earlier: Set<Int>

        func test(
            _ signature: SignatureTally, edges: (before: Int, after: Int), _ exposureBefore: Double,
            _ exposureAfter: Double
        ) -> RateTest? {
            guard signature.id != Organizer.others else { return nil }
            let before = earlier.reduce(0) { $0 + (signature.episodes[$1] ?? 0) }
            let after = latest.flatMap { signature.episodes[$0] } ?? 0
            return RateTest(
                before: before - edges.before, after: after - edges.after, exposureBefore: exposureBefore,
                exposureAfter: exposureAfter)
        }
    }
}
