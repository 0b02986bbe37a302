// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogFleet

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
    /// The number of incidents of a signature per host and day.
    var rate = 0.05
    /// The factor by which the last signature is more frequent in 1.1.
    var factor = 1.0
    /// The number of incidents that follow each other within minutes.
    var burst = 1

    /// Its incidents: one Poisson process for each signature and host.
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
                    // A changed rate starts over at the change.
                    if day < installed, day + step >= installed {
                        day = installed
                        continue
                    }
                    day += step
                    guard day < days else { break }
                    for repetition in 0..<burst {
                        incidents.append(
                            WatchdogFleetTests.incident(
                                "s\(signature)", hour: day * 24 + Double(repetition) / 1_000,
                                version: day < installed ? "1.0" : "1.1", host: "web-\(host)"))
                    }
                }
            }
        }
        return incidents
    }
}

/// `WATCHDOGD_UPDATE_GOLDENS=1` rewrites them.
func check(_ text: String, golden name: String) throws {
    let folder = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Goldens"
    if getenv("WATCHDOGD_UPDATE_GOLDENS") != nil { try TestFiles.write(Array(text.utf8), to: "\(folder)/\(name)") }
    #expect(text == String(decoding: try #require(TestFiles.read("\(folder)/\(name)")), as: UTF8.self))
}
