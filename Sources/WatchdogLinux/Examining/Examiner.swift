// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// Asks examiners about processes, with a deadline for each answer.
///
/// The kernel kills an examiner that misses its deadline. If that is impossible because the examiner is in
/// uninterruptible sleep, it is left alone and replaced. Each owner, such as an app, has one examination at a time, so
/// a hostile app delays only its own.
///
/// Isolation: the loop's thread; nothing here waits.
public final class Examiner {
    /// The limits of an examiner pool.
    struct Limits {
        /// The maximum number of busy and idle examiners.
        var examiners = 4
        /// The maximum number of examiners that were replaced but have not died yet.
        var abandoned = 8
        /// The maximum number of waiting examinations.
        var waiting = 1_024
    }

    private struct Question {
        let owner: Int
        let deadline: Instant
        let request: ExaminerFields
        let end: (ExaminerFields?) -> Void
    }

    private final class Worker {
        let descriptor: OwnedDescriptor
        var source: IOSource?
        var question: Question?
        /// True when the question was ended without an answer from this examiner.
        var isAbandoned = false

        init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }
    }

    private let loop: EventLoop
    private let origin: OwnedDescriptor
    /// Kept for the user that it reserves.
    private let source: ExaminerSource?
    private let limits: Limits
    private var workers: [Worker] = []
    private var waiting: [Question] = []
    private var timer: Timer?

    /// Connects to the source and makes it fork the first examiner.
    public convenience init(_ source: ExaminerSource, on loop: EventLoop) throws(LinuxError) {
        try self.init(source.descriptor, of: source, on: loop)
    }

    init(
        _ origin: OwnedDescriptor, of source: ExaminerSource? = nil, on loop: EventLoop, _ limits: Limits = Limits()
    ) throws(LinuxError) {
        self.origin = origin
        self.source = source
        self.loop = loop
        self.limits = limits
        timer = try loop.timer { [unowned self] _ in endOverdue() }
        _ = makeWorker()
    }

    /// Asks a question; `end` is called later, with nil if there is no answer in time.
    ///
    /// - Parameters:
    ///   - examination: the question.
    ///   - owner: the owner of the process; questions of one owner are answered one after another.
    ///   - limit: the maximum time, including the wait for earlier questions.
    ///   - end: gets the answer.
    public func ask<Answer>(
        _ examination: Examination<Answer>, for owner: Int, within limit: Duration = .milliseconds(500),
        then end: @escaping (Answer?) -> Void
    ) {
        let question = Question(
            owner: owner, deadline: loop.now + limit, request: examination.request
        ) { answer in end(answer.flatMap { examination.answer(in: $0) }) }
        waiting.append(question)
        distribute()
        armTimer()
    }

    /// The number of examiners that were replaced but have not died yet.
    public var abandonedCount: Int { workers.count(where: \.isAbandoned) }

    // MARK: - Examiners

    private func makeWorker() -> Worker? {
        guard abandonedCount < limits.abandoned, workers.count - abandonedCount < limits.examiners else { return nil }
        var ends: [Int32] = [-1, -1]
        guard wd_socket_pair(&ends) == 0 else { return nil }
        let worker = Worker(OwnedDescriptor(taking: ends[0]))
        let theirs = OwnedDescriptor(taking: ends[1])
        _ = wd_socket_refuse_descriptors(worker.descriptor.number)
        guard wd_socket_send_with(origin.number, [1], 1, [theirs.number], 1) == 0 else { return nil }
        worker.source = try? loop.onReadable(worker.descriptor) { [unowned self, unowned worker] in
            receive(from: worker)
        }
        guard worker.source != nil else { return nil }
        workers.append(worker)
        return worker
    }

    private func distribute() {
        while let index = waiting.firstIndex(where: { question in
            !workers.contains { $0.question?.owner == question.owner }
        }) {
            guard let worker = workers.first(where: { $0.question == nil && !$0.isAbandoned }) ?? makeWorker() else {
                return
            }
            let question = waiting.remove(at: index)
            var message = ExaminerFields()
            message.append(max(1, (question.deadline - loop.now).nanoseconds / 1_000_000))
            let bytes = message.bytes + question.request.bytes
            worker.question = question
            if wd_socket_send(worker.descriptor.number, bytes, bytes.count) != 0 { remove(worker) }
        }
    }

    private func receive(from worker: Worker) {
        var answer: ExaminerFields?
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ExaminerFields.longest) { buffer in
            let length = recv(worker.descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if length > 0 { answer = ExaminerFields(buffer.prefix(length)) }
        }
        guard let answer, !worker.isAbandoned, let question = worker.question else { return remove(worker) }
        worker.question = nil
        // One idle examiner is enough.
        if workers.contains(where: { $0 !== worker && $0.question == nil && !$0.isAbandoned }), waiting.isEmpty {
            remove(worker)
        }
        question.end(answer)
        distribute()
        armTimer()
    }

    /// Removes an examiner that has died or is about to end; its question gets no answer.
    private func remove(_ worker: Worker) {
        worker.source?.cancel()
        workers.removeAll { $0 === worker }
        worker.question?.end(nil)
        worker.question = nil
        distribute()
    }

    private func endOverdue() {
        let now = loop.now
        for worker in workers {
            guard let question = worker.question, question.deadline + Self.grace <= now else { continue }
            worker.question = nil
            worker.isAbandoned = true
            question.end(nil)
        }
        let overdue = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        for question in overdue { question.end(nil) }
        distribute()
        armTimer()
    }

    /// How long after its deadline an examiner may take to die from the kernel's kill before it counts as unkillable.
    private static let grace = Duration.milliseconds(50)

    private func armTimer() {
        let deadlines = workers.compactMap { $0.question.map { $0.deadline + Self.grace } } + waiting.map(\.deadline)
        let next = deadlines.min()
        if next != timer?.due { timer?.arm(at: next) }
    }
}
