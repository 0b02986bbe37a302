// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

extension ScriptedSource {
    fileprivate func examiners() -> [ScriptedExaminer] { sockets(of: .examiner).map { ScriptedExaminer($0) } }
}

private final class ScriptedExaminer {
    private let socket: OwnedDescriptor

    init(_ socket: OwnedDescriptor) { self.socket = socket }

    /// The next request, without its limit; nil if there is none.
    func request() -> ExaminerFields? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let length = recv(socket.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard length > 0 else { return nil }
        var fields = ExaminerFields(buffer.prefix(length))
        let limit: Int? = fields.number()
        #expect((limit ?? 0) > 0)
        return fields
    }

    func answer(_ fields: ExaminerFields) {
        let bytes = fields.bytes.isEmpty ? [0] : fields.bytes
        #expect(send(socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    /// Examines like a real one, but in this process.
    func serve() -> Bool {
        guard let request = request() else { return false }
        answer(ExaminationAnswer.make(to: request))
        return true
    }
}

@Suite("Examiners", .reapsChildren)
struct ExaminerTests {
    private let loop: EventLoop
    private let source: ScriptedSource

    init() throws {
        loop = try EventLoop()
        source = try ScriptedSource()
    }

    /// A user's only app.
    private static func tenant(_ user: UInt32) -> Tenant { Tenant(app: "app", user: user) }

    private func turn(until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, "nothing happened in time")
            _ = try loop.runOnce(limit: .milliseconds(10))
        }
    }

    private func process(_ id: Int32 = getpid()) throws -> ExaminedProcess {
        let stat = try #require(ProcessStat.read(id))
        return ExaminedProcess(id: id, startTime: stat.startTime, cgroup: nil)
    }

    // MARK: - Answers

    @Test("a chain of waits survives encoding by the examiner")
    func waits() throws {
        let subject = try WaitSubject("deadlock")
        _ = try #require(subject.chain { $0.cycleStart != nil })
        let examination = Examination.waits(of: try process(subject.pid), thread: subject.pid)
        var given: BlockedThread?
        // An examiner omits what exceeds its CPU time, some of which the machine's other guests may use.
        _ = eventually {
            given = examination.answer(in: ExaminationAnswer.make(to: examination.request))
            return given?.chain?.cycleStart != nil
        }
        let answer = try #require(given)
        let chain = try #require(answer.chain)
        #expect(chain.cycleStart == 0 && chain.waits.count == 2)
        #expect(chain.waits[0].syscall == answer.syscall)
        let look = WaitLook(budget: .seconds(10)) { [] }
        #expect(look.chain(process: subject.pid, thread: subject.pid, syscall: answer.syscall) == chain)
    }

    @Test("a variable of another process's environment is read, and one that is not set is reported as such")
    func variables() throws {
        var request = shell("read line")
        request.environment["COLOR"] = "blue"
        let pipe = try OwnedDescriptor.pipe()
        request.descriptors[0].source = pipe.read.number
        let spawned = try spawn(request)
        defer {
            try? spawned.process.send(SIGKILL)
            _ = try? waitForExit(spawned.process)
        }
        // Its environment appears shortly after its memory and its arguments.
        try #require(eventually { ProcessFacts.environment(spawned.pid)?.entries.isEmpty == false })
        let subject = try process(spawned.pid)
        for (name, value) in [("COLOR", "blue"), ("SHAPE", nil)] {
            let examination = Examination.variable(name, of: subject)
            let answer = try #require(examination.answer(in: ExaminationAnswer.make(to: examination.request)))
            #expect(answer == value)
        }
    }

    @Test("locks are reported with their files")
    func locks() throws {
        try withTemporaryDirectory { folder in
            let file = try OwnedDescriptor(opening: "\(folder)/lock", flags: O_RDWR | O_CREAT)
            #expect(flock(file.number, LOCK_EX) == 0)
            let examination = Examination.locks(of: try process(), in: [getpid()])
            let answer = try #require(examination.answer(in: ExaminationAnswer.make(to: examination.request)))
            #expect(answer.contains { $0.path == "\(folder)/lock" && $0.kind == .flock && $0.isExclusive })
        }
    }

    @Test("a process that reuses the ID is not examined")
    func reusedID() throws {
        let subject = try process()
        let other = ExaminedProcess(id: subject.id, startTime: subject.startTime + 1, cgroup: nil)
        let examination = Examination.variable("PATH", of: other)
        #expect(examination.answer(in: ExaminationAnswer.make(to: examination.request)) == nil)
    }

    @Test("a malformed or truncated message is neither an answer nor a request")
    func malformed() throws {
        let subject = try WaitSubject("normal")
        _ = try #require(subject.chain { $0.waits.count == 2 })
        let examination = Examination.waits(of: try process(subject.pid), thread: subject.pid)
        let whole = ExaminationAnswer.make(to: examination.request).bytes
        #expect(examination.answer(in: ExaminerFields(whole)) != nil)
        for length in 0..<whole.count {
            #expect(examination.answer(in: ExaminerFields(whole.prefix(length))) == nil)
        }
        for length in 0..<examination.request.bytes.count {
            #expect(ExaminationAnswer.make(to: ExaminerFields(examination.request.bytes.prefix(length))).bytes == [])
        }
    }

    // MARK: - Deadlines

    @Test("an answer goes to its requester, and each owner has one examination at a time")
    func owners() throws {
        let examiner = try Examiner(source.end, on: loop)
        var answers: [String] = []
        for (owner, name) in [(UInt32(1), "a"), (1, "b"), (2, "c")] {
            examiner.ask(.variable(name, of: try process()), of: Self.tenant(owner), within: patience) { _ in
                answers.append(name)
            }
        }
        let examiners = source.examiners()
        #expect(examiners.count == 2, "one per owner")
        #expect(examiners.allSatisfy { $0.serve() })
        try turn { answers.count == 2 }
        #expect(answers.sorted() == ["a", "c"])
        #expect(examiners.count { $0.serve() } == 1)
        try turn { answers.count == 3 }
        #expect(answers.last == "b")
    }

    @Test("a late examiner is abandoned and replaced, and its late answer is dropped")
    func late() throws {
        let examiner = try Examiner(source.end, on: loop)
        let stuck = try #require(source.examiners().first)
        var answers: [String??] = []
        let subject = try process()
        let began = Instant.now()
        examiner.ask(.variable("PATH", of: subject), of: Self.tenant(1), within: .milliseconds(30)) {
            answers.append($0)
        }
        try turn { !answers.isEmpty }
        #expect(Instant.now() - began >= .milliseconds(30))
        #expect(answers == [nil] && examiner.abandonedCount == 1)
        examiner.ask(.variable("PATH", of: subject), of: Self.tenant(1), within: patience) { answers.append($0) }
        let next = try #require(source.examiners().first)
        #expect(next.serve())
        try turn { answers.count == 2 }
        #expect(answers[1] != nil)
        #expect(stuck.serve())
        try turn { examiner.abandonedCount == 0 }
        #expect(answers.count == 2)
    }

    @Test("an examiner that dies gives no answer, and is replaced immediately")
    func dead() throws {
        let examiner = try Examiner(source.end, on: loop)
        var examiners = source.examiners()
        var answers: [String??] = []
        let subject = try process()
        examiner.ask(.variable("PATH", of: subject), of: Self.tenant(1), within: patience) { answers.append($0) }
        examiners.removeAll()
        try turn { !answers.isEmpty }
        #expect(answers == [nil])
        let next = try #require(source.examiners().first, "nobody has asked yet")
        examiner.ask(.variable("PATH", of: subject), of: Self.tenant(1), within: patience) { answers.append($0) }
        #expect(next.serve())
        try turn { answers.count == 2 }
        #expect(answers[1] != nil && examiner.refusal(of: Self.tenant(1)) == nil)
    }

    @Test("an app that makes examiners unkillable is no longer examined, which is reported once; others are")
    func unkillable() throws {
        let examiner = try Examiner(source.end, on: loop)
        var told: [(Examiner.Refusal, Tenant?)] = []
        examiner.onRefusal = { told.append(($0, $1)) }
        var examiners = source.examiners()
        let subject = try process()
        var ends = 0
        for round in 1...3 {
            examiner.ask(.variable("PATH", of: subject), of: Self.tenant(1), within: .milliseconds(20)) {
                #expect($0 == nil)
                ends += 1
            }
            try turn { ends == round }
            examiners += source.examiners()
        }
        #expect(examiner.abandonedCount == 2, "the third question reached nobody")
        #expect(told.count == 1 && told.first?.1 == Self.tenant(1))
        let refusal = try #require(examiner.refusal(of: Self.tenant(1)))
        #expect("\(refusal)" == "2 earlier examinations of this app have not returned")
        #expect(told.first?.0 == refusal)
        // Another user's app with the same name is examined.
        #expect(examiner.refusal(of: Self.tenant(2)) == nil)
        examiner.ask(.variable("PATH", of: subject), of: Self.tenant(2), within: patience) {
            #expect($0 != nil)
            ends += 1
        }
        examiners += source.examiners()
        #expect(examiners.last?.serve() == true)
        try turn { ends == 4 }
        examiners.removeAll()
        try turn { examiner.abandonedCount == 0 }
        #expect(examiner.refusal(of: Self.tenant(1)) == nil, "they have died")
    }

    @Test("one user's apps use only a share of the examiners")
    func parts() throws {
        var limits = Examiner.Limits()
        limits.busyPerUser = 2
        let examiner = try Examiner(source.end, on: loop, limits)
        let subject = try process()
        var answers = 0
        for app in ["a", "b", "c"] {
            let tenant = Tenant(app: app, user: 1)
            examiner.ask(.variable("PATH", of: subject), of: tenant, within: patience) { _ in answers += 1 }
        }
        var examiners = source.examiners()
        #expect(examiners.count == 2)
        examiner.ask(.variable("PATH", of: subject), of: Self.tenant(2), within: patience) { _ in answers += 1 }
        examiners += source.examiners()
        #expect(examiners.count == 3, "one for the other user")
        try turn {
            for examiner in examiners { _ = examiner.serve() }
            return answers == 4
        }
    }

    @Test("when their source has exited, requests end immediately, which is reported once")
    func withoutSource() throws {
        var scripted: ScriptedSource? = try ScriptedSource()
        let end = try #require(scripted?.end)
        let examiner = try Examiner(end, on: loop)
        var told: [Examiner.Refusal] = []
        examiner.onRefusal = { refusal, _ in told.append(refusal) }
        scripted = nil
        try turn { !told.isEmpty }
        var answers: [String??] = []
        examiner.ask(.variable("PATH", of: try process()), of: Self.tenant(1), within: patience * 2) {
            answers.append($0)
        }
        try turn { !answers.isEmpty }
        #expect(answers == [nil] && told == [.withoutSource])
        #expect(examiner.refusal(of: Self.tenant(1)) == .withoutSource)
    }

    @Test("a source that exited is restarted, and its examiners answer; exit and restart are each reported once")
    func restartedSource() throws {
        var scripted: ScriptedSource? = try ScriptedSource()
        let examiner = try Examiner(try #require(scripted?.end), on: loop)
        var told: [String] = []
        examiner.onRefusal = { refusal, _ in told.append("\(refusal)") }
        examiner.onReturn = { told.append("it runs again") }
        var starts = 0
        examiner.startSource = { end in
            starts += 1
            // The first attempt fails, and the next source exits immediately.
            scripted = starts == 1 ? nil : try? ScriptedSource()
            end(scripted?.end)
            if starts == 2 { scripted = nil }
        }
        scripted = nil
        try turn { starts == 3 }
        #expect(told == ["the process that starts examiners has ended", "it runs again"])
        var answers: [String??] = []
        examiner.ask(.variable("PATH", of: try process()), of: Self.tenant(1), within: patience) { answers.append($0) }
        let next = try #require(scripted?.examiners().first)
        #expect(next.serve())
        try turn { !answers.isEmpty }
        #expect(answers.first != .some(nil))
        #expect(examiner.refusal(of: Self.tenant(1)) == nil)
    }
}

@Suite("The restart of a source of examiners")
struct SourceRestartTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    @Test("is delayed longer each time, up to a minute, if the source does not last")
    func pauses() {
        var restarts = SourceRestarts(startedAt: start)
        var pauses: [Duration] = []
        for _ in 0..<12 { pauses.append(restarts.ended(at: start) - start) }
        #expect(pauses.prefix(4) == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
        #expect(pauses.suffix(3) == [.milliseconds(51_200), .seconds(60), .seconds(60)])
    }

    @Test("is fast again after the source has run for a minute, and not just before", arguments: [0, -1])
    func lasting(offset: Int64) {
        var restarts = SourceRestarts(startedAt: start)
        let first = restarts.ended(at: start)
        #expect(restarts.isNews)
        restarts.started(at: first)
        let end = first + SourceRestarts.lasting + .nanoseconds(offset)
        #expect(restarts.ended(at: end) - end == .milliseconds(offset == 0 ? 100 : 200))
        #expect(restarts.isNews == (offset == 0))
    }
}
