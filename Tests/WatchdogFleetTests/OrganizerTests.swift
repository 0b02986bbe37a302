// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogFleet

@Suite("Counting incidents")
struct OrganizerTests {
    @Test("A signature is new if it occurs only in the latest version")
    func new() throws {
        let app = try #require(
            table([
                incident("old", hour: 1), incident("old", hour: 50, version: "1.1"),
                incident("new", hour: 51, version: "1.1"), incident("gone", hour: 2),
                incident("maybe", hour: 52, version: "1.1"), incident("maybe", hour: 3, version: ""),
            ]).apps.first)
        #expect(app.latest?.name == "1.1")
        #expect(app.signatures.filter(\.isNew).map(\.id) == ["new"])
        #expect(app.signatures.first?.id == "new")
        #expect(app.signatures.first { $0.id == "old" }?.firstVersion == "1.0")
        #expect(app.signatures.first { $0.id == "maybe" }?.firstVersion == "1.1")
        #expect(app.versions.map(\.name) == ["1.0", "1.1", Organizer.unknown])
    }

    @Test("With one version, nothing is new and nothing is compared")
    func single() throws {
        let app = try #require(table((0..<50).map { incident(hour: Double($0)) }).apps.first)
        #expect(app.latest == nil && app.exposure == nil)
        #expect(app.signatures.allSatisfy { !$0.isNew && $0.increase == nil })
    }

    @Test("The order of the incidents does not matter")
    func order() {
        var random = SeededGenerator(seed: 7)
        let incidents = Fleet(rate: 0.2, factor: 5, burst: 3).incidents(&random)
        let expected = table(incidents)
        #expect(expected.apps[0].signatures.contains { $0.increase != nil })
        for _ in 0..<5 {
            let isSame = table(incidents.shuffled(using: &random)) == expected
            #expect(isSame)
        }
    }

    @Test("An incident in two sources counts once; one with repeats counts that often")
    func repetitions() {
        let result = table([
            incident(id: "A"), incident(id: "A"), incident(id: "B", count: 5), incident(), incident(),
        ])
        #expect(result.incidents == 8)
        #expect(result.repetitions == 1)
    }

    @Test("Times in the future or before 1970 are rejected; a day ahead is accepted")
    func times() {
        let organizer = Organizer(now: now)
        var early = incident()
        early.time = now.seconds + 86_400
        #expect(organizer.add(early))
        early.time += 1
        #expect(!organizer.add(early))
        early.time = -1
        #expect(!organizer.add(early))
        early.time = .max
        #expect(!organizer.add(early))
        #expect(organizer.incidents == 1)
    }

    @Test("Beyond the limits, names are counted together and no incident is lost")
    func limits() throws {
        var limits = Organizer.Limits()
        (limits.apps, limits.versions, limits.hosts, limits.signatures, limits.places) = (3, 4, 5, 6, 7)
        let incidents = (0..<400).map { number in
            incident(
                "s\(number % 31)", hour: Double(number), version: "1.\(number % 13)", host: "h\(number % 17)",
                app: "a\(number % 7)")
        }
        let result = table(incidents, limits)
        #expect(result.isLimited && result.incidents == 400)
        #expect(result.apps.map(\.incidents).reduce(0, +) == 400)
        #expect(result.apps.count == 4 && result.apps.contains { $0.name == Organizer.others })
        for app in result.apps {
            #expect(app.versions.map(\.incidents).reduce(0, +) == app.incidents)
            #expect(app.hosts.map(\.incidents).reduce(0, +) == app.incidents)
            #expect(app.signatures.map(\.incidents).reduce(0, +) == app.incidents)
            #expect(app.versions.count <= 5 && app.hosts.count <= 6)
        }
        #expect(!table(incidents).isLimited)
    }

    @Test("Terminations are counted by cause and event, foreground and background apart")
    func terminations() throws {
        let app = try #require(
            table([
                incident(event: "scene-update"), incident(event: "scene-update", role: .background),
                incident(event: "scene-create", role: .unknown), incident(event: "crash"),
                incident(event: "hang"), incident(event: "capture"),
            ]).apps.first)
        #expect(!app.hasHistory)
        #expect(app.terminations.map(\.cause) == ["watchdog", "crash", "watchdog"])
        let update = try #require(app.terminations.first)
        #expect((update.event, update.foreground, update.background, update.unknown) == ("scene-update", 1, 1, 0))
        #expect(app.terminations.last?.unknown == 1)
    }

    @Test("Versions are ordered by number, or by their first incident")
    func versions() {
        let order = { (names: [String]) in
            VersionOrder.sorted(names.enumerated().map { ($0.element, Int64($0.offset)) })
        }
        #expect(order(["1.10", "1.9", "1.9.1", "v1.2"]) == ["v1.2", "1.9", "1.9.1", "1.10"])
        #expect(order(["5:7.0.15-1", "5:7.0.9-2"]) == ["5:7.0.9-2", "5:7.0.15-1"])
        #expect(order(["9f2c", "1.0", "3f2a"]) == ["9f2c", "1.0", "3f2a"])
        let long = "3.99999999999999999999999999"
        #expect(order(["20.04", long, "3.1"]) == ["3.1", long, "20.04"])
    }
}

@Suite("The organizer and histories")
struct OrganizerHistoryTests {
    private func time(_ hour: Int64) -> Int64 { epoch + hour * 3_600 }

    @Test("The hang rate is per hour of running; a launch with an unknown end does not count")
    func hangRate() throws {
        let organizer = Organizer(now: now)
        organizer.add(
            [
                .launch(time: time(0), version: "1.0", host: "web-1", duration: .milliseconds(100)),
                .hang(time: time(1), version: "1.0", duration: .seconds(6)),
                .termination(time: time(4), version: "1.0", reason: "normal", event: nil, isForeground: true),
                .launch(time: time(5), version: "1.0", host: "web-1", duration: nil),
                // The machine lost power.
                .launch(time: time(50), version: "1.1", host: "web-1", duration: .milliseconds(200)),
                .hang(time: time(51), version: "1.1", duration: .seconds(3)),
                .termination(
                    time: time(52), version: "1.1", reason: "watchdog", event: "scene-update", isForeground: false),
                .launch(time: time(53), version: "1.1", host: "web-1", duration: .milliseconds(400)),
                .other(time: time(54)),
            ], of: "photo-server")
        let app = try #require(OrganizerTable(organizer).apps.first)
        #expect(app.versions.map(\.hangRate) == [.secondsPerHour(1.5, hours: 4), .secondsPerHour(1, hours: 3)])
        #expect(app.versions.map { $0.launches?.count } == [2, 2])
        #expect(app.versions.map { $0.launches?.failures } == [1, 0])
        let median = try #require(app.versions.last?.launches?.p50)
        #expect(median >= .milliseconds(200) && median <= .milliseconds(213))
        #expect(app.hasHistory && app.terminations.map(\.cause) == ["normal", "watchdog"])
        #expect(app.terminations.last?.background == 1)
    }

    @Test("Without a history, hangs are counted per day")
    func hangsPerDay() throws {
        let app = try #require(
            table((0...10).map { incident(hour: Double($0) * 24, event: $0 % 2 == 0 ? "hang" : "crash") }).apps.first)
        #expect(app.versions.first?.hangRate == .hangsPerDay(0.6, days: 10))
    }

    @Test("Rates are compared by running time only if the histories cover all hosts with incidents")
    func exposure() {
        func exposure(hosts: [String]) -> OrganizerTable.Exposure? {
            let organizer = Organizer(now: now)
            for host in hosts {
                for hour in 0..<40 {
                    organizer.add(
                        incident(hour: Double(hour) * 3, version: hour < 20 ? "1.0" : "1.1", host: host))
                }
            }
            organizer.add(
                [
                    .launch(time: time(0), version: "1.0", host: "web-1", duration: .seconds(1)),
                    .termination(time: time(60), version: "1.0", reason: "normal", event: nil, isForeground: true),
                    .launch(time: time(60), version: "1.1", host: "web-1", duration: .seconds(1)),
                    .termination(time: time(120), version: "1.1", reason: "normal", event: nil, isForeground: true),
                ], of: "photo-server")
            return OrganizerTable(organizer).apps.first?.exposure
        }
        #expect(exposure(hosts: ["web-1"]) == .running)
        #expect(exposure(hosts: ["web-1", "web-2"]) == .sightings)
    }
}
