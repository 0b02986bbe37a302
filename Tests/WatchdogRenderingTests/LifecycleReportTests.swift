// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Reports of lifecycle incidents")
struct LifecycleReportTests {
    private func report(_ code: TerminationCode, _ exhaustion: IncidentFacts.Exhaustion) throws -> Report {
        var facts = Samples.facts(.backgroundTask, exhaustion, allowance: .seconds(30))
        facts.code = code
        facts.visibility = .background
        facts.watchdogVisibility = .background
        facts.processState = code == .deadLock ? .suspended : .running
        facts.lifecycle = LifecycleDetails(
            cause: code == .deadLock
                ? "Suspended with a locked file: /var/db (SQLite)"
                : "1 background task open after 30.00 s in the background: \"Saving library\" for 32.0 s",
            brief: code == .deadLock ? "suspended with a locked file" : "1 background task left open",
            openTasks: [.init(name: "Saving library", ageNanoseconds: 32_000_000_000)],
            openTaskCount: 1,
            lockedFiles: [.init(path: "/var/db", kind: "SQLite", isExclusive: true, pid: 4_242)],
            history: [
                .init(state: "launching", nanoseconds: 0), .init(state: "foreground", nanoseconds: 412_000_000),
                .init(state: "background", nanoseconds: 5_000_000_000),
            ],
            mistakes: .init(
                statesOutOfOrder: 1, unknownStates: 0, unknownEvents: 2, unknownTasks: 0, repeatedTasks: 0),
            resumeCount: 2,
            slowestResumeNanoseconds: 31_000_000)
        return Report(of: facts, on: Samples.host, capture: nil)
    }

    @Test("begin with the open tasks, followed by the main thread's state")
    func text() throws {
        let report = try report(.backgroundTask, .backgroundTask)
        let lines = try #require(report.body.applicationSpecificInformation?["watchdogd"])
        #expect(lines[0] == "1 background task open after 30.00 s in the background: \"Saving library\" for 32.0 s")
        #expect(lines[1].hasPrefix("Main thread: blocked 19.97 s in recvfrom"))
        for line in [
            "Allowance: 30.00 s in the background for open tasks, elapsed 30.05 s",
            "Background task: \"Saving library\", open for 32.00 s",
            "Lifecycle: launching +0.000 s, foreground +0.412 s, background +5.000 s",
            "Locked file: /var/db, SQLite, exclusive, held by pid 4242",
            "Resumes: 2, the slowest took 0.031 s",
            "Mistakes: 1 answers out of order, 2 answers to events that were not open",
        ] {
            #expect(lines.contains(line), "\(line) in \(lines)")
        }
        #expect(report.body.procRole == "Background")
        #expect(report.body.termination?.code == 0x2182_bad2)
        #expect(report.body.termination?.reasons?.first?.contains("1 background task open after 30.00 s") == true)
        #expect(report.body.linux?.verdict.brief == "1 background task left open")
    }

    @Test("a report of a lock held at suspension states that the process was suspended")
    func lock() throws {
        let report = try report(.deadLock, .lockedFiles)
        #expect(report.body.termination?.code == 0xdead_10cc)
        #expect(report.body.termination?.reasons?.contains("ProcessState: Suspended") == true)
        #expect(Blame(for: report).party == .app)
        #expect(Blame(for: report).reason == "suspended with a locked file")
    }

    @Test("a report of a machine without CPU for the app names the party at fault")
    func machine() throws {
        #expect(Blame(for: try report(.machineBusy, .backgroundTask)).party == .machine)
    }

    @Test("survive encoding, and reports without a lifecycle have none")
    func coding() throws {
        let report = try report(.backgroundTask, .backgroundTask)
        let decoded = try ReportCoding.decode(ReportCoding.encode(report))
        #expect(decoded.body.linux?.lifecycle == report.body.linux?.lifecycle)
        let other = Report(of: Samples.facts(), on: Samples.host, capture: nil)
        #expect(!String(decoding: try ReportCoding.encode(other), as: UTF8.self).contains("\"lifecycle\""))
    }

    @Test("show the lifecycle on their page")
    func page() throws {
        let page = HTMLRenderer.render(try report(.deadLock, .lockedFiles))
        #expect(page.contains("Lifecycle"))
        #expect(page.contains("Locked file: /var/db, SQLite, exclusive, held by pid 4242"))
    }

    @Test("use the machine's record")
    func record() {
        var machine = ProcessMachine(spec: AppSpec(name: "App"))
        let launch = Instant(nanoseconds: 5_000_000_000)
        for event in [
            ProcessEvent.launchRequested, .spawned(pid: 7), .lifecycle(.joined), .ready(.channel),
            .lifecycle(.taskBegan(id: 1, name: "save\u{1b}[2J")), .lifecycle(.requested(.background)),
            .lifecycle(.stateDone(1)), .lifecycle(.stateDone(7)),
        ] { _ = machine.handle(event, at: launch) }
        var effects: [ProcessEffect] = []
        for seconds in [25, 30] as [Int64] {
            effects += machine.handle(.deadlineReached, at: launch + .seconds(seconds))
            effects += machine.handle(.ponged(nonce: 0), at: launch + .seconds(seconds))
        }
        for case .inspect(let id) in effects {
            effects += machine.handle(.inspected(id: id, Evidence(state: "S")), at: launch + .seconds(31))
        }
        guard
            let incident = effects.lazy.compactMap({ effect -> Incident? in
                if case .capture(let incident) = effect { incident } else { nil }
            }).first
        else {
            Issue.record("no incident in \(effects)")
            return
        }
        let details = LifecycleDetails(
            machine.lifecycleRecord, of: incident, at: incident.decidedAt, launchedAt: launch)
        #expect(details?.cause?.hasPrefix("1 background task open after 30.00 s in the background") == true)
        #expect(details?.cause?.unicodeScalars.contains("\u{1b}") == false)
        #expect(details?.openTasks.count == 1)
        #expect(details?.openTasks.first?.name.unicodeScalars.contains("\u{1b}") == false)
        #expect(details?.mistakes?.unknownStates == 1)
        #expect(details?.history.map(\.state) == ["launching", "foreground", "inactive", "background"])
    }
}
