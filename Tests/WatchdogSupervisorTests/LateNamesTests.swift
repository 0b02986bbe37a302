// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

@testable import WatchdogLaunch

@Suite("Names that arrive after the report", .reapsChildren)
struct LateNamesTests {
    private static func facts(_ process: Int32) -> IncidentFacts {
        let now = Instant.now()
        return IncidentFacts(
            id: .random(), event: .sceneUpdate, exhaustion: .wallClock, allowance: .seconds(10), elapsed: .seconds(10),
            appName: "App", pid: Int(process), executablePath: "/bin/app", userID: 0, parentName: "watchdogd",
            parentPID: 1, launchTime: .now(), captureTime: .now(), launchInstant: now, captureInstant: now,
            evidence: HangEvidence(processorCount: 2))
    }

    /// A process that waits until the test kills it, with its stacks.
    private static func withSnapshot(_ body: (Snapshot) throws -> Void) throws {
        let child = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "1000"]))
        defer {
            kill(child.pid, SIGKILL)
            waitpid(child.pid, nil, 0)
        }
        #expect(eventually { ProcessStat.read(child.pid)?.state.letter == "S" })
        try body(try Snapshot.take(of: child.pid, SnapshotOptions(stopTimeout: patience)))
    }

    /// A substitute for `watchdogd-symbolicate` that fails a few times, and then names the main thread's frame.
    private static func program(in directory: String, failures: Int, of snapshot: Snapshot) throws -> String {
        var named = CapturedProcess.withoutSymbols(from: snapshot, because: "named")
        let first = try #require(named.threads.first?.frames.first)
        var frame = first
        (frame.symbol, frame.symbolLocation) = ("waits_for_ever", 4)
        named.threads[0].frames = [frame]
        try JSONEncoder().encode(named).write(to: URL(filePath: "\(directory)/answer"))
        let tries = (0..<failures).map { "mkdir \(directory)/try\($0) 2>/dev/null && exit 70" }
        let script = (["#!/bin/sh"] + tries + ["cat \(directory)/answer", ""]).joined(separator: "\n")
        try Data(script.utf8).write(to: URL(filePath: "\(directory)/symbolicate"))
        chmod("\(directory)/symbolicate", 0o755)
        chmod("\(directory)/answer", 0o644)
        // The program runs as a different user.
        chmod(directory, 0o777)
        return "\(directory)/symbolicate"
    }

    private func write(
        failures: Int, delays: [Duration],
        _ check: (
            ReportStore, ReportOutcome, ReportWriter, _ wait: (() -> Bool) throws -> Void,
            _ named: @escaping () -> [NamedReport]
        ) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            try Self.withSnapshot { snapshot in
                let program = try Self.program(in: directory, failures: failures, of: snapshot)
                let loop = try EventLoop()
                let mailbox = try Mailbox<Host.Message>()
                let store = ReportStore(directory: "\(directory)/reports")
                try store.prepare()
                // A program that runs out of time would be one more failure.
                var limits = Symbolicator.Limits()
                (limits.work, limits.budget) = (patience, patience)
                let writer = ReportWriter(
                    store: store, symbolicator: Symbolicator(program: program, limits: limits), mailbox: mailbox,
                    limitsRepeats: true, namingDelays: delays)
                var outcome: ReportOutcome?
                var named: [NamedReport] = []
                let source = try loop.receive(from: mailbox) { message in
                    switch message {
                    case .reported(_, _, let report): outcome = report
                    case .named(let report):
                        writer.namesWereTold()
                        named.append(report)
                    default: break
                    }
                }
                func wait(_ condition: () -> Bool) throws {
                    let end = Instant.now() + patience
                    while !condition(), Instant.now() < end { _ = try loop.runOnce(limit: .milliseconds(50)) }
                    #expect(condition())
                }
                writer.write(
                    app: 1, incident: .judged(7), facts: Self.facts(snapshot.process), host: .current(),
                    capture: .taken(snapshot))
                try wait { outcome != nil }
                try check(store, try #require(outcome), writer, wait) { named }
                withExtendedLifetime(source) {}
            }
        }
    }

    private func frames(_ report: Report) -> [FrameInfo] { report.body.threads.first?.frames ?? [] }

    @Test("a report without names has all addresses, and one update adds the names and keeps the file's mode and count")
    func later() throws {
        try write(failures: 2, delays: [.seconds(1_000_000), .zero]) { store, outcome, writer, wait, named in
            let path = try #require(outcome.path)
            let stored = try store.find(path)
            let before = try store.read(stored)
            #expect(frames(before).count > 1 && frames(before).allSatisfy { $0.symbol == nil })
            #expect(before.body.linux?.notes.contains(UnnamedReport.note) == true)
            #expect(before.body.linux?.buildIDs.contains { $0 != nil } == true)
            #expect(writer.awaitsNames)
            // Another incident of the same fault is counted in the report meanwhile.
            var counted = before
            counted.countRepeat(at: .now())
            try store.replace(stored, with: counted)
            chmod(path, 0o600)
            writer.hurryNames()
            try wait { !writer.awaitsNames }
            #expect(named().count == 1)
            let late = try #require(named().first)
            // The second failure was the last attempt.
            #expect(!late.isWhole)
            #expect(late.line(name: "App") == "App: not all names could be added to \(path)")
            let after = try store.read(try store.find(path))
            #expect(after.body.linux?.repeats?.count == 1)
            #expect(after.body.linux?.notes.contains { $0.hasPrefix("Names are still missing at ") } == true)
            var status = stat()
            stat(path, &status)
            #expect(status.st_mode & 0o7777 == 0o600)
        }
    }

    @Test("the second attempt finds the names, and no further attempt follows")
    func second() throws {
        try write(failures: 1, delays: [.zero, .seconds(1_000_000)]) { store, outcome, writer, wait, named in
            let path = try #require(outcome.path)
            try wait { !named().isEmpty }
            #expect(named().map(\.isWhole) == [true] && !writer.awaitsNames)
            let report = try store.read(try store.find(path))
            #expect(frames(report).map(\.symbol) == ["waits_for_ever"])
            let notes = report.body.linux?.notes ?? []
            #expect(notes.contains { $0.hasPrefix("The names were added at ") })
            #expect(!notes.contains(UnnamedReport.note))
            #expect(report.body.incident == named().first?.id.description)
            #expect(try store.list().count == 1)
        }
    }

    /// A report whose names are there, and whose rewriting begins and ends when the test wants.
    private struct Job: NamingJob {
        let app = 1
        let incident = IncidentKey.judged(7)
        let appName = "App"
        let pid = 42
        let id: IncidentID
        let path: String
        let named = DispatchSemaphore(value: 0)
        let begun = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)

        func name(with symbolicator: Symbolicator) -> Bool {
            named.signal()
            return true
        }

        func report(replacing stored: Report, at time: WallTime, isWhole: Bool) -> Report? {
            begun.signal()
            mayEnd.wait()
            return stored
        }
    }

    @Test("An end waits for the report that is being rewritten, and no other one is begun")
    func closed() throws {
        try withTemporaryDirectory { directory in
            let store = ReportStore(directory: "\(directory)/reports")
            try store.prepare()
            let facts = Self.facts(42)
            let path = try store.write(Report(of: facts, on: .current(), capture: nil))
            let names = LateNames(
                store, Symbolicator(program: "/bin/false"), try Mailbox<Host.Message>(), delays: [.zero])
            let writing = DispatchQueue(label: "test")
            let jobs = (0..<2).map { _ in Job(id: facts.id, path: path) }
            for job in jobs {
                #expect(names.reserve(.init()))
                names.add(job, .init(), writing: writing)
            }
            let first = try #require(jobs.first)
            #expect(first.begun.wait(timeout: .now() + patience / .seconds(1)) == .success)
            #expect(!names.close())
            let second = jobs[1]
            second.mayEnd.signal()
            first.mayEnd.signal()
            #expect(eventually { names.close() })
            #expect(second.named.wait(timeout: .now() + patience / .seconds(1)) == .success)
            writing.sync {}
            #expect(second.begun.wait(timeout: .now()) == .timedOut)
        }
    }

    @Test("a report that somebody has changed meanwhile stays unchanged")
    func changed() throws {
        try write(failures: 1, delays: [.seconds(1_000_000)]) { store, outcome, writer, wait, named in
            let stored = try store.find(try #require(outcome.path))
            var edited = try store.read(stored)
            edited.body.linux?.notes.append("Somebody was here.")
            try store.replace(stored, with: edited)
            writer.hurryNames()
            try wait { !named().isEmpty }
            #expect(named().first?.explanation == nil && named().first?.line(name: "App") == nil)
            #expect(try store.read(stored) == edited)
        }
    }

    @Test("a new daemon resumes naming the newest reports, except those whose attempts are used up")
    func left() throws {
        try withTemporaryDirectory { directory in
            let store = ReportStore(directory: "\(directory)/reports")
            try store.prepare()
            func later(by hours: Int64) -> WallTime { WallTime(seconds: WallTime.now().seconds + hours * 3_600) }
            func write(_ note: String?, hoursAgo: Int64 = 0) throws -> String {
                var facts = Self.facts(42)
                facts.notes += [note].compactMap(\.self)
                facts.captureTime = later(by: -hoursAgo)
                return try store.write(Report(of: facts, on: .current(), capture: nil))
            }
            let older = try write(UnnamedReport.note, hoursAgo: 2)
            _ = try write(nil, hoursAgo: 1)
            let newer = try write(UnnamedReport.note)
            let now = WallTime.now()
            #expect(LeftReport.find(in: store, at: now).map(\.path) == [newer, older])
            #expect(LeftReport.find(in: store, at: later(by: 23)).count == 2)
            #expect(LeftReport.find(in: store, at: later(by: 25)).isEmpty)
            let job = try #require(LeftReport.find(in: store, at: now).first)
            let report = try store.read(try store.find(newer))
            let after = try #require(job.report(replacing: report, at: now, isWhole: false))
            let notes = after.body.linux?.notes ?? []
            #expect(!notes.contains(UnnamedReport.note))
            #expect(notes.contains { $0.hasPrefix("Names are still missing at ") })
            // Somebody has added the names meanwhile.
            #expect(job.report(replacing: after, at: now, isWhole: true) == nil)
            try store.replace(try store.find(newer), with: after)
            #expect(LeftReport.find(in: store, at: now).map(\.path) == [older])
            for _ in 0..<LeftReport.countLimit { _ = try write(nil) }
            #expect(LeftReport.find(in: store, at: now).isEmpty)
        }
    }

    @Test("a report with all names is never rewritten")
    func whole() throws {
        try write(failures: 0, delays: [.zero]) { _, outcome, writer, _, _ in
            #expect(outcome.path != nil && !writer.awaitsNames)
        }
    }
}
