// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// Asks examiners about processes, with a deadline for each answer.
///
/// The kernel kills an examiner that misses its deadline. If that is impossible because the examiner is in
/// uninterruptible sleep, it is left alone and replaced, which counts against the ``ExaminationBudget`` of the app and of its
/// user. Each app has one examination at a time, and each user a part of the examiners, so a hostile app delays only its own
/// user's.
///
/// Isolation: the loop's thread; nothing here waits.
public final class Examiner {
    /// The limits of an examiner pool.
    struct Limits {
        /// The maximum number of busy and idle examiners.
        var examiners = 16
        /// The maximum number of examinations of one user's processes at a time.
        var busyPerUser = 4
    }

    /// Why nothing of a tenant is examined.
    public enum Refusal: Hashable, Sendable, CustomStringConvertible {
        /// Too many examiners of the tenant do not die.
        case stuck(ExaminationBudget.Refusal)
        /// The process that examiners are forked from has ended.
        case withoutSource

        /// The reason, in words.
        public var description: String {
            switch self {
            case .stuck(let refusal): refusal.description
            case .withoutSource: "the process that starts examiners has ended"
            }
        }
    }

    private struct Question {
        let tenant: Tenant
        let deadline: Instant
        let request: ExaminerFields
        let end: (ExaminerFields?) -> Void
    }

    private final class Worker {
        let descriptor: OwnedDescriptor
        var source: IOSource?
        var question: Question?
        /// The number in the budget once the question was ended without an answer from this examiner.
        var loss: Int?
        var isAbandoned: Bool { loss != nil }
        var isIdle: Bool { question == nil && !isAbandoned }

        init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }
    }

    private let loop: EventLoop
    private var origin: OwnedDescriptor
    private let limits: Limits
    private var workers: [Worker] = []
    private var waiting: [Question] = []
    private var timer: Timer?
    private var lastAnswer: Instant
    private var budget = ExaminationBudget()
    private var sourceEnd: IOSource?
    private var hasSource = true
    private var restarts: SourceRestarts
    private var restartTimer: Timer?
    private var isEndTold = false
    /// Examiners that end at once are not replaced without a pause.
    private var replacements = TokenBucket(capacity: 4, perSecond: 1)
    /// Whose refusals have been told, and until when they last; nil until an examiner dies.
    private var told: [StuckWaits.Refusal.Scope: Instant?] = [:]

    /// Called once for each app, user or whole of which nothing is examined for a while, with one that it concerns, and
    /// when the source has ended.
    public var onRefusal: (Refusal, _ tenant: Tenant?) -> Void = { _, _ in }

    /// Called when a source runs again whose end was told.
    public var onReturn: () -> Void = {}

    /// Starts a source in the place of one that has ended, and passes the socket for requests to it, or nil; without this, it
    /// stays ended.
    public var startSource: ((_ end: @escaping (OwnedDescriptor?) -> Void) -> Void)?

    /// Connects to the source and makes it fork the first examiner.
    public convenience init(_ source: ExaminerSource, on loop: EventLoop) throws(LinuxError) {
        try self.init(source.descriptor, on: loop)
    }

    init(
        _ origin: OwnedDescriptor, on loop: EventLoop, _ limits: Limits = Limits()
    ) throws(LinuxError) {
        self.origin = origin
        self.loop = loop
        self.limits = limits
        restarts = SourceRestarts(startedAt: loop.now)
        lastAnswer = loop.now
        timer = try loop.timer { [unowned self] _ in endOverdue() }
        restartTimer = try loop.timer { [unowned self] _ in restartSource() }
        sourceEnd = try loop.onReadable(origin) { [unowned self] in loseSource() }
        _ = makeWorker()
    }

    /// Asks a question; `end` is called later with the answer, or with nil if there is none in time or
    /// ``refusal(of:)`` says so.
    ///
    /// - Parameters:
    ///   - examination: the question.
    ///   - tenant: whose process it is about; questions of one tenant are answered one after another.
    ///   - limit: the maximum time, including the wait for earlier questions.
    ///   - end: gets the answer.
    public func ask<Answer>(
        _ examination: Examination<Answer>, of tenant: Tenant, within limit: Duration = .milliseconds(500),
        then end: @escaping (Answer?) -> Void
    ) {
        let question = Question(
            tenant: tenant, deadline: refusal(of: tenant) == nil ? loop.now + limit : loop.now,
            request: examination.request
        ) { answer in end(answer.flatMap { examination.answer(in: $0) }) }
        waiting.append(question)
        distribute()
        armTimer()
    }

    /// Why nothing of a tenant is examined at the moment; nil if it is.
    public func refusal(of tenant: Tenant) -> Refusal? {
        guard hasSource else { return .withoutSource }
        return budget.refusal(of: tenant, at: loop.now).map { .stuck($0) }
    }

    /// The number of examiners that were replaced but have not died yet.
    public var abandonedCount: Int { workers.count(where: \.isAbandoned) }

    // MARK: - Examiners

    private func makeWorker() -> Worker? {
        guard hasSource, workers.count - abandonedCount < limits.examiners else { return nil }
        var ends: [Int32] = [-1, -1]
        guard wd_socket_pair(&ends) == 0 else { return nil }
        let worker = Worker(OwnedDescriptor(taking: ends[0]))
        let theirs = OwnedDescriptor(taking: ends[1])
        _ = wd_socket_refuse_descriptors(worker.descriptor.number)
        let kind = [ForkedReader.examiner.rawValue]
        guard wd_socket_send_with(origin.number, kind, 1, [theirs.number], 1) == 0 else { return nil }
        worker.source = try? loop.onReadable(worker.descriptor) { [unowned self, unowned worker] in
            receive(from: worker)
        }
        guard worker.source != nil else { return nil }
        workers.append(worker)
        return worker
    }

    private func distribute() {
        while let index = waiting.firstIndex(where: { mayBegin($0.tenant) }) {
            guard let worker = workers.first(where: \.isIdle) ?? makeWorker() else { return }
            let question = waiting.remove(at: index)
            var message = ExaminerFields()
            message.append(max(1, (question.deadline - loop.now).nanoseconds / 1_000_000))
            let bytes = message.bytes + question.request.bytes
            worker.question = question
            if wd_socket_send(worker.descriptor.number, bytes, bytes.count) != 0 { remove(worker) }
        }
    }

    private func mayBegin(_ tenant: Tenant) -> Bool {
        let busy = workers.compactMap(\.question?.tenant)
        return !busy.contains(tenant) && busy.count { $0.user == tenant.user } < limits.busyPerUser
            && refusal(of: tenant) == nil
    }

    private func receive(from worker: Worker) {
        var answer: ExaminerFields?
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ExaminerFields.longest) { buffer in
            let length = recv(worker.descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if length > 0 { answer = ExaminerFields(buffer.prefix(length)) }
        }
        guard let answer, !worker.isAbandoned, let question = worker.question else { return remove(worker) }
        worker.question = nil
        lastAnswer = loop.now
        question.end(answer)
        distribute()
        armTimer()
    }

    /// Removes an examiner that has died or is about to end; its question gets no answer.
    private func remove(_ worker: Worker) {
        worker.source?.cancel()
        workers.removeAll { $0 === worker }
        if let loss = worker.loss {
            budget.end(loss)
            told = told.filter { $0.value != nil }
        }
        worker.question?.end(nil)
        worker.question = nil
        distribute()
        // The next question should not wait for a fork.
        if !workers.contains(where: \.isIdle), replacements.admit(at: loop.now) { _ = makeWorker() }
    }

    private func loseSource() {
        sourceEnd?.cancel()
        sourceEnd = nil
        hasSource = false
        let next = restarts.ended(at: loop.now)
        if restarts.isNews {
            isEndTold = true
            onRefusal(.withoutSource, nil)
        }
        endRefused()
        if startSource != nil { restartTimer?.arm(at: next) }
    }

    private func restartSource() {
        startSource? { [weak self] origin in self?.restartEnded(origin) }
    }

    private func restartEnded(_ origin: OwnedDescriptor?) {
        guard !hasSource else { return }
        guard let origin, let end = try? loop.onReadable(origin, handler: { [unowned self] in loseSource() }) else {
            restartTimer?.arm(at: restarts.ended(at: loop.now))
            return
        }
        restarts.started(at: loop.now)
        (self.origin, sourceEnd, hasSource) = (origin, end, true)
        if isEndTold { onReturn() }
        isEndTold = false
        if !workers.contains(where: \.isIdle) { _ = makeWorker() }
    }

    /// Ends the questions that nobody will answer.
    private func endRefused() {
        let refused = waiting.filter { refusal(of: $0.tenant) != nil }
        waiting.removeAll { refusal(of: $0.tenant) != nil }
        for question in refused { question.end(nil) }
    }

    /// Counts an examiner that does not die against the tenant of its question.
    private func abandon(_ worker: Worker, for tenant: Tenant) {
        worker.loss = budget.begin(for: tenant, at: loop.now)
        guard let refusal = budget.refusal(of: tenant, at: loop.now) else { return }
        told = told.filter { $0.value.map { $0 > loop.now } ?? true }
        guard told.updateValue(refusal.until, forKey: refusal.scope) == nil else { return }
        onRefusal(.stuck(refusal), tenant)
    }

    private func endOverdue() {
        let now = loop.now
        for worker in workers {
            guard let question = worker.question, question.deadline + Self.grace <= now else { continue }
            worker.question = nil
            abandon(worker, for: question.tenant)
            question.end(nil)
        }
        let overdue = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        for question in overdue { question.end(nil) }
        // One idle examiner is enough.
        if lastAnswer + Self.rest <= now { for worker in idle.dropFirst() { remove(worker) } }
        endRefused()
        distribute()
        armTimer()
    }

    /// How long after its deadline an examiner may take to die from the kernel's kill before it counts as unkillable.
    private static let grace = Duration.milliseconds(50)

    /// How long several idle examiners are kept: apps that hang for one cause ask again and again, and a fork takes longer than
    /// an answer.
    private static let rest = Duration.seconds(1)

    private var idle: [Worker] { workers.filter(\.isIdle) }

    private func armTimer() {
        var deadlines = workers.compactMap { $0.question.map { $0.deadline + Self.grace } } + waiting.map(\.deadline)
        if idle.count > 1 { deadlines.append(lastAnswer + Self.rest) }
        let next = deadlines.min()
        if next != timer?.due { timer?.arm(at: next) }
    }
}
