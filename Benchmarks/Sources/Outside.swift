// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// One daemon as its users experience it: requests come from other processes, and it has been idle for over a second.
struct Outside {
    private static let repetitions = 20
    /// Longer than s6 and runit hold back a service that has run only briefly.
    private static let idleTime: UInt32 = 1_150_000

    let bench: Bench

    func run(on page: inout Page) throws {
        let peers = Peers(bench, on: &page)
        try atOnce(beside: peers, on: &page)
        try single(beside: peers, on: &page)
    }

    // MARK: - All at once

    private func atOnce(beside peers: Peers, on page: inout Page) throws {
        let count = 500
        page.begin("\(count) that send READY=1, at once")
        page.row(
            "watchdogd, reload", try atOnce(count) { ["reload", $0.control] }, goal: Page.Goal(median: 120))
        page.row(
            "watchdogd, Launch calls",
            try atOnce(count, "[App]\nEnabled=no") { ["launch", $0.control, "service", "\(count)"] },
            goal: Page.Goal(median: 150))
        peers.launch(count, repetitions: 5, on: &page)
    }

    private func atOnce(_ count: Int, _ more: String = "", _ request: (Daemon) -> [String]) throws -> Sample {
        var sample = Sample()
        for _ in 0..<5 {
            let daemon = try Daemon(bench)
            try daemon.configure(count, bench.notifyingService("notify", more))
            if !more.isEmpty { _ = try daemon.client.reload() }
            usleep(Self.idleTime)
            let client = try RequestingClient(bench, request(daemon))
            var last = Instant(nanoseconds: 0)
            for _ in 0..<count { last = max(last, try daemon.nextRecord().time) }
            sample.add(last - (try client.requestedAt()))
        }
        return sample
    }

    // MARK: - One

    private func single(beside peers: Peers, on page: inout Page) throws {
        let daemon = try Daemon(bench, isHeard: false)
        try daemon.configure(1, bench.notifyingService())
        _ = try daemon.client.reload()
        let own = DaemonSession(daemon, first: try daemon.nextRecord())
        let sessions = [("watchdogd", own as any SingleSession)] + peers.singles(on: &page)

        page.begin("One start, asked for by a client")
        try measure(sessions.filter { $0.1.request != nil }, stopped: true, on: &page, goal: 0.6) { session in
            try RequestingClient(bench, session.request ?? [])
        }
        page.begin("One start by command, from its execve")
        try measure(sessions, stopped: true, on: &page, goal: 4) { session in
            try RequestingClient(bench, ["exec"] + session.command)
        }
        page.begin("kill -9 to next first instruction")
        try measure(sessions, stopped: false, on: &page, goal: 0.7) { session in
            try RequestingClient(bench, ["kill", "\(try session.process())"])
        }
    }

    /// Measures all supervisors by turns; `request` makes one of them start its service.
    private func measure(
        _ sessions: [(label: String, session: any SingleSession)], stopped: Bool, on page: inout Page, goal: Double,
        _ request: (any SingleSession) throws -> RequestingClient
    ) throws {
        var samples = [Sample](repeating: Sample(), count: sessions.count)
        for _ in 0..<Self.repetitions {
            if stopped { for entry in sessions { try entry.session.stop() } }
            usleep(Self.idleTime)
            for (index, entry) in sessions.enumerated() {
                // Wait until the effects of the previous one are over.
                usleep(20_000)
                let client = try request(entry.session)
                let started = try entry.session.nextStart()
                samples[index].add(started - (try client.requestedAt()))
            }
        }
        for (index, entry) in sessions.enumerated() {
            page.row(entry.label, samples[index], goal: index == 0 ? Page.Goal(median: goal) : nil)
        }
    }
}
