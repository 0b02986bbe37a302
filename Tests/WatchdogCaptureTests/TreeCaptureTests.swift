// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogCapture

@Suite("The capture of an app's other processes", .reapsChildren)
struct TreeCaptureTests {
    private static let tenant = Tenant(app: "app", user: 1)
    private static var seats: ThreadSeats { ThreadSeats(limits: TreeCapture.seats) }

    private static func members(_ subjects: [Subject]) -> TreeMembers {
        .listed(subjects.compactMap { ProcessStat.read($0.process) })
    }

    private static func capture(
        _ main: Subject, with others: [Subject], _ options: SnapshotOptions
    ) throws -> (main: Result<Snapshot, SnapshotError>, others: TreeSnapshot) {
        // On a machine that is busy with other tests, threads take longer to stop than a supervisor would wait.
        var configuration = CaptureThreadConfiguration()
        configuration.treeLimits.time = patience
        configuration.treeLimits.stopTimeout = patience
        let thread = try CaptureThread(configuration)
        defer { thread.shutDown() }
        let answer = Mutex<(Result<Snapshot, SnapshotError>, TreeSnapshot)?>(nil)
        thread.capture(main.process, of: tenant, with: members([main] + others), preferring: [], options) {
            result, others in
            answer.withLock { $0 = (result, others) }
        }
        try eventually("the capture") { answer.withLock { $0 != nil } }
        return try #require(answer.withLock { $0 })
    }

    @Test("precedes the kill of the main process, and leaves them running", arguments: [true, false])
    func captures(kills: Bool) throws {
        let main = try Subject("threads", "2")
        let others = try (0..<3).map { _ in try Subject("threads", "4") }
        for subject in [main] + others { try subject.waitUntilAsleep() }
        let options = SnapshotOptions.patient(ending: kills ? .kill() : .release)
        let captured = try Self.capture(main, with: others, options)
        #expect(try captured.main.get().threadCount == 2)
        #expect(captured.others.notes == [])
        #expect(Set(captured.others.members.map(\.stat.id)) == Set(others.map(\.process)))
        for member in captured.others.members {
            let snapshot = try #require(member.snapshot, "\(member.failure ?? "")")
            #expect(snapshot.threadCount == 4)
            #expect(member.arguments.last?.description == "4")
            let subject = try #require(others.first { $0.process == member.stat.id })
            let contents = try snapshot.contents()
            for marker in subject.markers {
                let thread = contents.threads.first { $0.id == marker.thread }
                #expect(thread?.stack?.word(at: marker.address) == marker.value)
            }
        }
        // Processes with the same program share the descriptors of its files.
        #expect(Set(captured.others.members.map { $0.snapshot?.modules }).count == 1)
        if kills { #expect(try main.reap() == 9) } else { #expect(kill(main.process, 0) == 0) }
        for subject in others { #expect(kill(subject.process, 0) == 0) }
    }

    @Test("succeeds even if the main process is gone")
    func withoutMain() throws {
        let main = try Subject("threads", "1")
        let other = try Subject("threads", "2")
        kill(main.process, SIGKILL)
        #expect(try main.reap() == 9)
        let captured = try Self.capture(main, with: [other], SnapshotOptions(ending: .kill()))
        #expect(throws: SnapshotError.self) { try captured.main.get() }
        #expect(captured.others.members.first?.snapshot?.threadCount == 2)
    }

    @Test("omits and counts processes beyond the limits")
    func limits() throws {
        let subjects = try (0..<4).map { _ in try Subject("threads", "3") }
        let request = TreeCapture.Request(
            members: Self.members(subjects), main: 0, preferred: [subjects[3].process],
            tenant: Self.tenant)
        var limits = TreeLimits()
        limits.processes = 3
        limits.threads = 6
        limits.time = patience
        limits.stopTimeout = patience
        let capture = TreeCapture(request, SpareThreads(.inherited), Self.seats, Copiers(nil), limits: limits)
        capture.run()
        let snapshot = capture.end()
        #expect(snapshot.members.map(\.stat.id) == [subjects[3], subjects[0], subjects[1]].map(\.process))
        #expect(snapshot.members.map { $0.snapshot != nil } == [true, true, false])
        #expect(snapshot.members.last?.failure == "the processes have more than 6 threads")
        #expect(snapshot.notes == ["1 more process of the app was left out."])
    }

    @Test("ends in time, and reports which processes it did not reach")
    func late() throws {
        let subjects = try (0..<2).map { _ in try Subject("threads", "3") }
        let request = TreeCapture.Request(members: Self.members(subjects), main: 0, preferred: [], tenant: Self.tenant)
        var limits = TreeLimits()
        limits.time = .zero
        let capture = TreeCapture(request, SpareThreads(.inherited), Self.seats, Copiers(nil), limits: limits)
        capture.run()
        #expect(capture.end().members.allSatisfy { $0.snapshot == nil && $0.failure == "there was no time" })
    }

    @Test("is omitted with a note if earlier ones of its app are stuck, but not for another user's app")
    func seats() throws {
        let subject = try Subject("threads", "1")
        let seats = ThreadSeats(limits: StuckWaits.Limits(app: 1, user: 1, all: 9))
        let taken = try seats.take(for: Self.tenant, at: .now()).get()
        var limits = TreeLimits()
        limits.time = patience
        func notes(of tenant: Tenant) -> [String] {
            let request = TreeCapture.Request(
                members: Self.members([subject]), main: 0, preferred: [], tenant: tenant)
            let capture = TreeCapture(request, SpareThreads(.inherited), seats, Copiers(nil), limits: limits)
            capture.run()
            return capture.end().notes
        }
        #expect(
            notes(of: Self.tenant)
                == ["The other processes were not captured: 1 earlier capture of this app has not returned."])
        #expect(notes(of: Tenant(app: "app", user: 2)) == [])
        try withExtendedLifetime(taken) {
            try eventually("the thread's end") { seats.takenCount == 1 }
        }
    }

    @Test("shares its time with waiting captures")
    func sharing() {
        let limits = TreeLimits()
        #expect(limits.time(before: 0) == limits.time)
        #expect(limits.time(before: 1) == limits.time / 2)
        // Fifty apps that hang at once are delayed by about as much as one.
        #expect((0..<50).reduce(.zero) { $0 + limits.time(before: $1) } < limits.time * 5)
    }

    @Test("does not capture a process whose ID was reused")
    func reuse() throws {
        let subject = try Subject("threads", "1")
        let stat = try #require(ProcessStat.read(subject.process))
        let line = try #require(textOfFile("/proc/\(subject.process)/stat"))
        let later = line.replacing(" \(stat.startTime) ", with: " \(stat.startTime + 1) ")
        let other = try #require(ProcessStat(parsing: Array(later.utf8)))
        let found = TreeMembers.listed([other]).open(except: 0, preferring: [], limit: 8)
        #expect(found.members.isEmpty)
    }
}
