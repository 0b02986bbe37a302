// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("Many incidents at once", .reapsChildren)
struct BacklogTests {
    private static func facts(_ number: Int) -> IncidentFacts {
        let now = Instant.now()
        var facts = IncidentFacts(
            id: .random(), event: .sceneUpdate, exhaustion: .wallClock, allowance: .seconds(10), elapsed: .seconds(10),
            appName: "App\(number)", pid: 100 + number, executablePath: "/bin/app", userID: 0, parentName: "watchdogd",
            parentPID: 1, launchTime: .now(), captureTime: .now(), launchInstant: now, captureInstant: now,
            evidence: HangEvidence(processorCount: 2))
        facts.arguments = ["app"]
        return facts
    }

    @Test("an app that hangs repeatedly gets five reports, and the newest counts the rest")
    func repeats() throws {
        try withTemporaryDirectory { directory in
            let loop = try EventLoop()
            let mailbox = try Mailbox<Host.Message>()
            let store = ReportStore(directory: directory)
            let writer = ReportWriter(
                store: store, symbolicator: Symbolicator(), mailbox: mailbox, limitsRepeats: true)
            var outcomes: [ReportOutcome] = []
            let source = try loop.receive(from: mailbox) { message in
                if case .reported(_, _, let outcome) = message { outcomes.append(outcome) }
            }
            func write(_ count: Int, app: Int = 1, kind: ReportKind = .watchdog) throws -> [ReportOutcome] {
                outcomes = []
                for _ in 0..<count {
                    var facts = Self.facts(app)
                    facts.kind = kind
                    writer.write(
                        app: app, incident: .judged(7), facts: facts, host: .current(),
                        capture: .failed("it is a test"))
                }
                let end = Instant.now() + patience
                while outcomes.count < count, Instant.now() < end { _ = try loop.runOnce(limit: .milliseconds(50)) }
                return outcomes
            }
            #expect(try write(6, kind: .capture).allSatisfy { $0.repeats == nil }, "captures on request")
            let first = try write(8)
            #expect(first.map(\.repeats) == [nil, nil, nil, nil, nil, 1, 2, 3])
            #expect(Set(first.compactMap(\.path)).count == 5 && Set(first[4...].map(\.path)).count == 1)
            let newest = try store.read(try store.find(try #require(first[7].path)))
            #expect(newest.body.linux?.repeats?.count == 3)
            let lines = try #require(newest.body.applicationSpecificInformation?["watchdogd"])
            #expect(lines.count { $0.hasPrefix("Repeated: 3 more incidents like this, the last at ") } == 1)
            #expect(lines.count { $0.hasPrefix("Repeated: ") } == 1)
            #expect(try write(1, app: 2).map(\.repeats) == [nil], "another app")
            #expect(try write(1, kind: .capture).map(\.repeats) == [nil], "someone requested it")
            // If the report with the count is gone, the incident gets its own.
            #expect(unlink(try #require(first[7].path)) == 0)
            #expect(try write(1).map(\.repeats) == [nil])
            #expect(try store.list().count == 13)
            withExtendedLifetime(source) {}
        }
    }

    @Test("fifty apps that hang on one database get one report each")
    func fiftyReports() throws {
        try withTemporaryDirectory { directory in
            let loop = try EventLoop()
            let mailbox = try Mailbox<Host.Message>()
            let store = ReportStore(directory: directory)
            let writer = ReportWriter(
                store: store, symbolicator: Symbolicator(), mailbox: mailbox, limitsRepeats: false)
            var reports: [Int: String] = [:]
            let source = try loop.receive(from: mailbox) { message in
                guard case .reported(let app, .judged(7), let outcome) = message else { return }
                #expect(outcome.failure == nil)
                reports[app] = outcome.path
            }
            for app in 0..<50 {
                writer.write(
                    app: app, incident: .judged(7), facts: Self.facts(app), host: .current(),
                    capture: .failed("it is a test"))
            }
            let end = Instant.now() + patience
            while reports.count < 50, Instant.now() < end { _ = try loop.runOnce(limit: .milliseconds(50)) }
            #expect(Set(reports.values).count == 50)
            #expect(try store.list().count == 50)
            withExtendedLifetime(source) {}
        }
    }

    /// A writer whose reports are recorded in the order in which they are written.
    private final class Arrivals {
        let writer: ReportWriter
        private(set) var apps: [Int] = []
        private let loop: EventLoop
        private var source: EventSource?

        /// - Parameter readingPatience: how long a report waits for its reader.
        init(in directory: String, readingPatience: Duration = .zero) throws {
            loop = try EventLoop()
            let mailbox = try Mailbox<Host.Message>()
            writer = ReportWriter(
                store: ReportStore(directory: directory), symbolicator: Symbolicator(), mailbox: mailbox,
                limitsRepeats: false, readingPatience: readingPatience)
            source = try loop.receive(from: mailbox) { [unowned self] message in
                if case .reported(let app, _, _) = message { apps.append(app) }
            }
        }

        /// Waits for `count` reports, and calls `onTurn` after each turn of the loop.
        func wait(for count: Int, onTurn: () -> Void = {}) throws {
            let end = Instant.now() + patience
            while apps.count < count, Instant.now() < end {
                _ = try loop.runOnce(limit: .milliseconds(50))
                onTurn()
            }
        }
    }

    @Test("the report of a hang does not wait for crash reports")
    func crashes() throws {
        try withTemporaryDirectory { directory in
            let arrivals = try Arrivals(in: directory)
            let writer = arrivals.writer
            var facts = Self.facts(1)
            facts.kind = .crash
            let outcome = Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: true)
            facts.crash = CrashDetails(try #require(Crash(outcome, reporting: .all)))
            let postMortem = PostMortem(
                process: 101, user: 0, launchedAt: .now(), launched: WallTime.now().seconds, directories: [])
            // While the lock is held, no crash report is written.
            try writer.crashLimit.withLock { _ in
                for _ in 0..<3 {
                    writer.write(
                        app: 1, incident: .judged(7), facts: facts, host: .current(), capture: .failed("a crash"),
                        postMortem: postMortem)
                }
                writer.write(
                    app: 2, incident: .judged(7), facts: Self.facts(2), host: .current(), capture: .failed("a test"))
                try arrivals.wait(for: 1)
                #expect(arrivals.apps == [2])
            }
            try arrivals.wait(for: 4)
            #expect(arrivals.apps == [2, 1, 1, 1])
        }
    }

    @Test("a report waits for its own blocked reader, but other apps' reports do not")
    func heldReader() throws {
        try withTemporaryDirectory { directory in
            let arrivals = try Arrivals(in: directory, readingPatience: patience)
            let writer = arrivals.writer
            let subject = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "1000"])).process
            defer {
                try? subject.send(SIGKILL)
                waitpid(subject.pid, nil, 0)
            }
            let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let seat = try ThreadSeats(limits: ReportGaps.samplerLimits).take(
                for: Tenant(app: "App1", user: 0), at: .now()
            ).get()
            let session = try SamplingSession(of: subject.pid, SamplingOptions(), seat: seat, onFirstLook: {}) {
                isHeld.signal()
                gate.wait()
                gate.signal()
            }
            try #require(eventually { isHeld.wait(timeout: .now()) == .success })
            let watch = HangWatch(session, of: subject.pid, at: .now())
            watch.stop()
            #expect(watch.record() == nil)
            for app in 1...2 {
                writer.write(
                    app: app, incident: .judged(7), facts: Self.facts(app), host: .current(),
                    capture: .failed("it is a test"), watch: app == 1 ? watch : nil)
            }
            try arrivals.wait(for: 2) {
                // The other app's report is written, so the reader is released.
                if arrivals.apps == [2] { gate.signal() }
            }
            #expect(arrivals.apps == [2, 1])
            gate.signal()
        }
    }

    @Test("queued stacks stay within the limit, but a single report keeps its stacks however large they are")
    func backlog() {
        let limit = StackBacklog.Cost(bytes: 100, descriptors: 10)
        var backlog = StackBacklog(limit: limit)
        let half = StackBacklog.Cost(bytes: 50, descriptors: 5)
        let admissions = [
            half, .init(bytes: 51, descriptors: 5), .init(bytes: 50, descriptors: 6), half, .init(bytes: 1),
        ].map { backlog.admit($0) }
        #expect(admissions == [true, false, false, true, false])
        backlog.release(half)
        let again = [half, .init(descriptors: 1)].map { backlog.admit($0) }
        #expect(again == [true, false])
        var empty = StackBacklog(limit: limit)
        let large = [StackBacklog.Cost(bytes: 1_000, descriptors: 100), .init(bytes: 1)].map { empty.admit($0) }
        #expect(large == [true, false])
    }

    @Test("a capture counts until it ends or its budget is over, and a late end changes nothing")
    func captures() {
        let start = Instant(nanoseconds: 1_000)
        var captures = CaptureCount()
        #expect(captures.isEmpty)
        let stuck = captures.begin(until: start + .seconds(2))
        let quick = captures.begin(until: start + .seconds(3))
        let isEarly = captures.expire(at: start + .seconds(2) + .nanoseconds(-1))
        #expect(!isEarly)
        captures.end(quick)
        #expect(!captures.isEmpty)
        let isStuck = captures.expire(at: start + .seconds(2))
        #expect(isStuck)
        #expect(captures.isEmpty)
        let next = captures.begin(until: start + .seconds(9))
        captures.end(stuck)
        #expect(!captures.isEmpty)
        captures.end(next)
        #expect(captures.isEmpty)
    }
}
