// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogOrganizer

/// 2026-11-01 00:00:00 UTC.
let epoch: Int64 = 1_793_491_200
let now = WallTime(seconds: epoch + 40 * 86_400)

/// An incident this many hours after the epoch.
func incident(
    _ signature: String = "s1", hour: Double = 0, version: String = "1.0", host: String = "web-1",
    app: String = "photo-server", event: String = "scene-update", role: OrganizerIncident.Role = .foreground,
    id: String = "", count: Int = 1
) -> OrganizerIncident {
    OrganizerIncident(
        time: epoch + Int64(hour * 3_600), host: host, app: app, version: version, event: event, role: role,
        cause: "blocked in recvfrom", signature: signature, incident: id, frames: ["fetch()", "reload()"],
        count: count)
}

func table(_ incidents: [OrganizerIncident], _ limits: Organizer.Limits = Organizer.Limits()) -> OrganizerTable {
    let organizer = Organizer(now: now, limits: limits)
    for incident in incidents { organizer.add(incident) }
    return OrganizerTable(organizer)
}

/// A fleet in which version 1.1 follows 1.0 on one host after the other.
struct Fleet {
    var hosts = 12
    var days = 30.0
    var signatures = 12
    /// The incidents of a signature on a host in a day.
    var rate = 0.05
    /// How much more often the last signature occurs in 1.1.
    var factor = 1.0
    /// How many incidents follow each other within minutes.
    var burst = 1

    /// Its incidents: Poisson processes, for each signature and host one.
    func incidents(_ random: inout SeededGenerator) -> [OrganizerIncident] {
        var incidents: [OrganizerIncident] = []
        for host in 0..<hosts {
            let installed = days * Double.random(in: 0.3..<0.8, using: &random)
            // Hosts differ.
            let own = rate * Double.random(in: 0.5..<2, using: &random)
            for signature in 0..<signatures {
                let isChanged = signature == signatures - 1
                var day = 0.0
                while true {
                    let current = day < installed || !isChanged ? own : own * factor
                    let step = -log(Double.random(in: 1e-12..<1, using: &random)) / current
                    // A rate that changes begins anew at the change.
                    if day < installed, day + step >= installed {
                        day = installed
                        continue
                    }
                    day += step
                    guard day < days else { break }
                    for repetition in 0..<burst {
                        incidents.append(
                            WatchdogOrganizerTests.incident(
                                "s\(signature)", hour: day * 24 + Double(repetition) / 1_000,
                                version: day < installed ? "1.0" : "1.1", host: "web-\(host)"))
                    }
                }
            }
        }
        return incidents
    }
}

/// `WATCHDOGD_UPDATE_GOLDENS=1` writes them anew.
func check(_ text: String, golden name: String) throws {
    let folder = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Goldens"
    if getenv("WATCHDOGD_UPDATE_GOLDENS") != nil { try TestFiles.write(Array(text.utf8), to: "\(folder)/\(name)") }
    #expect(text == String(decoding: try #require(TestFiles.read("\(folder)/\(name)")), as: UTF8.self))
}
