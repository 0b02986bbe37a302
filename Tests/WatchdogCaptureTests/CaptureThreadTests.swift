// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogCapture

@Suite("The capture thread", .reapsChildren)
struct CaptureThreadTests {
    /// The reports of completions, in order.
    private final class Reports: Sendable {
        private let errors = Mutex<[Int32?]>([])

        func add(_ result: Result<Snapshot, SnapshotError>) {
            errors.withLock { errors in
                switch result {
                case .success: errors.append(nil)
                case .failure(let error): errors.append(error.errno.rawValue)
                }
            }
        }

        var count: Int { errors.withLock { $0.count } }
        var all: [Int32?] { errors.withLock { $0 } }
    }

    /// A door at which captures wait.
    private final class Door: Sendable {
        private let semaphore: PosixSemaphore
        private let arrived = Mutex(0)

        init() throws {
            semaphore = PosixSemaphore()
        }

        var arrivals: Int { arrived.withLock { $0 } }

        func pass() {
            arrived.withLock { $0 += 1 }
            semaphore.wait()
        }

        func open() {
            semaphore.signal()
        }
    }

    private static let tenant = Tenant(app: "app", user: 1)

    private static func failure(_ process: Int32) -> Result<Snapshot, SnapshotError> {
        .failure(SnapshotError("test", of: process, Errno(rawValue: process)))
    }

    @Test(
        "captures one process after the other",
        arguments: [CaptureThreadConfiguration.Scheduling.inherited, .niceness(-5), .realTime(priority: 2)]
    )
    func captures(scheduling: CaptureThreadConfiguration.Scheduling) throws {
        let thread = try CaptureThread(CaptureThreadConfiguration(scheduling: scheduling))
        defer { thread.shutDown() }
        let subjects = try (0..<3).map { _ in try Subject("threads", "4") }
        let reports = Reports()
        for subject in subjects {
            #expect(
                thread.capture(
                    subject.process, of: Self.tenant, SnapshotOptions(ending: .kill()), completion: reports.add) == nil)
        }
        try eventually("three captures") { reports.count == 3 }
        #expect(reports.all == [nil, nil, nil])
        for subject in subjects {
            #expect(try subject.reap() == 9)
        }
        #expect(thread.droppedCount == 0)
    }

    @Test("runs with the requested priority if permitted")
    func scheduling() throws {
        let policy = Mutex<[Int32]>([])
        let configuration = CaptureThreadConfiguration(residentBytes: 0, scheduling: .realTime(priority: 2))
        let thread = try CaptureThread(configuration) { _, process, _, _ in
            var parameters = sched_param()
            sched_getparam(0, &parameters)
            policy.withLock { $0 = [sched_getscheduler(0), parameters.sched_priority] }
            return (Self.failure(process), false)
        }
        defer { thread.shutDown() }
        thread.capture(1, of: Self.tenant, SnapshotOptions()) { _ in }
        try eventually("a capture") { policy.withLock { !$0.isEmpty } }
        let resetOnFork: Int32 = 0x4000_0000
        let isPermitted = ThreadWithResult {
            var parameters = sched_param()
            parameters.sched_priority = 2
            return sched_setscheduler(0, SCHED_RR, &parameters) == 0
        }
        let expected = try isPermitted.result() ? [SCHED_RR | resetOnFork, 2] : [SCHED_OTHER, 0]
        #expect(policy.withLock { $0 } == expected)
    }

    @Test("continues after a capture whose thread had to exit")
    func lingering() throws {
        let thread = try CaptureThread()
        defer { thread.shutDown() }
        let reports = Reports()
        let subject = try Subject("vfork")
        try subject.waitForVfork()
        for _ in 0..<3 {
            thread.capture(subject.process, of: Self.tenant, SnapshotOptions(), completion: reports.add)
        }
        try eventually("three captures") { reports.count == 3 }
        #expect(reports.all == [nil, nil, nil])
        try eventually("the tracer's end") {
            textOfFile("/proc/\(subject.process)/status")?.contains("TracerPid:\t0\n") == true
        }
        try subject.send(0)
        #expect(try subject.line() == "returned")
    }

    @Test("lets others reap a process that dies during its capture")
    func dying() throws {
        let thread = try CaptureThread()
        defer { thread.shutDown() }
        for attempt in 0..<60 {
            let subject = try Subject("threads", "16")
            let process = subject.process
            let reports = Reports()
            let killer = ThreadWithResult {
                usleep(UInt32(600 + attempt * 10))
                return kill(process, SIGKILL)
            }
            thread.capture(process, of: Self.tenant, SnapshotOptions(), completion: reports.add)
            #expect(try subject.reap() == 9)
            try eventually("the capture") { reports.count == 1 }
            #expect(try killer.result() == 0)
        }
    }

    @Test("runs captures of different apps in parallel if allowed, and all end")
    func sideBySide() throws {
        let door = try Door()
        let reports = Reports()
        var configuration = CaptureThreadConfiguration(residentBytes: 0)
        configuration.width = 2
        let thread = try CaptureThread(configuration) { _, process, _, _ in
            door.pass()
            return (Self.failure(process), false)
        }
        defer { thread.shutDown() }
        for process: Int32 in 1...4 {
            thread.capture(
                process, of: Tenant(app: "\(process)", user: 1), SnapshotOptions(), completion: reports.add)
            if process == 1 { try eventually("the first capture") { door.arrivals == 1 } }
        }
        try eventually("two captures at once") { door.arrivals == 2 }
        #expect(thread.waitingCount == 2)
        for _ in 0..<4 { door.open() }
        try eventually("four captures") { reports.count == 4 }
        #expect(Set(reports.all) == [1, 2, 3, 4])
        #expect(thread.stuckWorkerCount == 0)
        #expect(thread.shutDown(within: patience))
    }

    @Test("captures and kills fifty apps at once, each with all stacks and with its other process")
    func fifty() throws {
        var configuration = CaptureThreadConfiguration()
        configuration.width = 2
        configuration.treeLimits.time = patience * 50
        configuration.treeLimits.stopTimeout = patience
        let thread = try CaptureThread(configuration)
        defer { thread.shutDown() }
        let apps = try (0..<50).map { _ in (main: try Subject("threads", "2"), other: try Subject("threads", "1")) }
        for app in apps {
            try app.main.waitUntilAsleep()
            try app.other.waitUntilAsleep()
        }
        let captured = Mutex<[Int32: (Result<Snapshot, SnapshotError>, TreeSnapshot)]>([:])
        for (index, app) in apps.enumerated() {
            let members = TreeMembers.listed([app.main, app.other].compactMap { ProcessStat.read($0.process) })
            let process = app.main.process
            let refusal = thread.capture(
                process, of: Tenant(app: "\(index)", user: 1), with: members, preferring: [],
                .patient(ending: .kill())
            ) { result, others in captured.withLock { $0[process] = (result, others) } }
            #expect(refusal == nil)
        }
        try eventually("fifty captures") { captured.withLock(\.count) == 50 }
        for app in apps {
            #expect(try app.main.reap() == 9)
            let (result, others) = try #require(captured.withLock { $0[app.main.process] })
            let member = try #require(others.members.first, "\(others.notes)")
            let other = try #require(member.snapshot, "\(member.failure ?? "")")
            for (subject, snapshot) in [(app.main, try result.get()), (app.other, other)] {
                let contents = try snapshot.contents()
                for marker in subject.markers {
                    let stack = contents.threads.first { $0.id == marker.thread }?.stack
                    #expect(stack?.word(at: marker.address) == marker.value)
                }
            }
        }
    }

    @Test("rejects and counts captures beyond its queue")
    func queueLimit() throws {
        let door = try Door()
        let reports = Reports()
        let thread = try CaptureThread(CaptureThreadConfiguration(queueLimit: 2)) { _, process, _, _ in
            door.pass()
            return (Self.failure(process), false)
        }
        defer { thread.shutDown() }
        #expect(thread.capture(1, of: Self.tenant, SnapshotOptions(), completion: reports.add) == nil)
        try eventually("the first capture") { door.arrivals == 1 }
        #expect(thread.capture(2, of: Self.tenant, SnapshotOptions(), completion: reports.add) == nil)
        #expect(thread.capture(3, of: Self.tenant, SnapshotOptions(), completion: reports.add) == nil)
        #expect(thread.capture(4, of: Self.tenant, SnapshotOptions(), completion: reports.add) == .tooManyWaiting)
        #expect(thread.capture(5, of: Self.tenant, SnapshotOptions(), completion: reports.add) == .tooManyWaiting)
        #expect(thread.droppedCount == 2)
        for _ in 0..<3 {
            door.open()
        }
        try eventually("three captures") { reports.count == 3 }
        #expect(reports.all == [1, 2, 3])
    }

    @Test("hands waiting captures to a new worker when one is stuck")
    func stuck() throws {
        let door = try Door()
        let reports = Reports()
        let thread = try CaptureThread(CaptureThreadConfiguration()) { _, process, _, _ in
            if process == 1 { door.pass() }
            return (Self.failure(process), false)
        }
        defer { thread.shutDown() }
        #expect(!thread.replaceStuckWorker(after: .zero, at: .now()), "nothing runs")
        thread.capture(1, of: Self.tenant, SnapshotOptions(), completion: reports.add)
        try eventually("the first capture") { door.arrivals == 1 }
        thread.capture(2, of: Self.tenant, SnapshotOptions(), completion: reports.add)
        #expect(!thread.replaceStuckWorker(after: patience, at: .now()), "not stuck yet")
        #expect(thread.replaceStuckWorker(after: patience, at: .now() + patience + .seconds(1)))
        try eventually("the second capture") { reports.count == 1 }
        #expect(reports.all == [2])
        door.open()
        try eventually("the first capture") { reports.count == 2 }
        thread.capture(3, of: Self.tenant, SnapshotOptions(), completion: reports.add)
        try eventually("the third capture") { reports.count == 3 }
        #expect(reports.all == [2, 1, 3])
    }

    @Test("rejects captures of an app that gets them stuck, but not other users' captures")
    func stuckApp() throws {
        let door = try Door()
        let reports = Reports()
        let thread = try CaptureThread(CaptureThreadConfiguration(residentBytes: 0)) { _, process, _, _ in
            if process == 1 { door.pass() }
            return (Self.failure(process), false)
        }
        defer { thread.shutDown() }
        let late = { Instant.now() + .seconds(2) }
        // Before any is stuck: the third one never begins, and ends with the reason.
        for _ in 1...3 {
            #expect(thread.capture(1, of: Self.tenant, SnapshotOptions(), completion: reports.add) == nil)
        }
        for round in 1...2 {
            try eventually("capture \(round)") { door.arrivals == round }
            #expect(thread.replaceStuckWorker(after: .zero, at: late()))
            try eventually("worker \(round)") { thread.stuckWorkerCount == round }
        }
        let refusal = try #require(thread.refusal(of: Self.tenant, at: late()))
        #expect("\(refusal)" == "2 earlier captures of this app have not returned")
        let stranger = Tenant(app: "app", user: 2)
        #expect(thread.capture(2, of: stranger, SnapshotOptions(), completion: reports.add) == nil)
        try eventually("the other user's capture") { reports.all.contains(2) }
        #expect(thread.refusal(of: stranger, at: late()) == nil)
        thread.replaceStuckWorker(after: .zero, at: late())
        #expect(reports.all == [2, EDEADLK])
        for _ in 0..<2 { door.open() }
        try eventually("the stuck captures") { reports.count == 4 && thread.stuckWorkerCount == 0 }
        #expect(thread.refusal(of: Self.tenant, at: late()) == nil)
        #expect(thread.capture(3, of: Self.tenant, SnapshotOptions(), completion: reports.add) == nil)
        try eventually("a capture of that app") { reports.all.contains(3) }
    }

    @Test("ends waiting captures with an error at shutdown")
    func shutDown() throws {
        let door = try Door()
        let reports = Reports()
        let thread = try CaptureThread(CaptureThreadConfiguration()) { _, process, _, _ in
            door.pass()
            return (Self.failure(process), false)
        }
        thread.capture(1, of: Self.tenant, SnapshotOptions(), completion: reports.add)
        try eventually("the first capture") { door.arrivals == 1 }
        thread.capture(2, of: Self.tenant, SnapshotOptions(), completion: reports.add)
        #expect(!thread.shutDown(within: .milliseconds(5)), "one capture still runs")
        #expect(reports.all == [ECANCELED])
        #expect(thread.capture(3, of: Self.tenant, SnapshotOptions(), completion: reports.add) == .shutDown)
        door.open()
        #expect(thread.shutDown(within: patience))
        #expect(reports.all == [ECANCELED, 1])
    }
}
