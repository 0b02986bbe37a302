// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

/// The thread whose end another one awaits.
///
/// A launcher that runs the program on another thread, like Java's, or a main thread that joins its workers, is not
/// informative itself: the cause of its wait is the joined thread's activity.
public struct JoinedThread: Equatable, Sendable {
    /// Its stack.
    public let stack: ReportStack
    /// The wait of that thread; nil if unknown.
    public let wait: WaitDetails?

    /// `thread 1 (java)`, in the middle of a sentence.
    public var title: String { "thread \(stack.index)" + (stack.name.map { " (\($0.singleLine(limit: 32)))" } ?? "") }
}

extension Report {
    /// The last thread in the chain of joins from the faulting thread; nil if it waits for something else, or in a
    /// cycle.
    public var joinedThread: JoinedThread? {
        guard let linux = body.linux, linux.verdict.kind == .blocked,
            body.threads.indices.contains(body.faultingThread),
            let faulting = body.threads[body.faultingThread].id
        else { return nil }
        let waits = linux.waits ?? []
        guard !waits.contains(where: \.isDeadlocked) else { return nil }
        var joined: (id: Int, wait: WaitDetails?) = (faulting, waits.first)
        for (index, wait) in waits.enumerated() {
            guard wait.process == body.pid, wait.thread == joined.id, let holder = wait.holder,
                holder.relation == .ends, holder.process == body.pid, let thread = holder.thread
            else { break }
            joined = (thread, waits.dropFirst(index + 1).first.flatMap { $0.thread == thread ? $0 : nil })
        }
        guard joined.id != faulting, let index = body.threads.firstIndex(where: { $0.id == joined.id }) else {
            return nil
        }
        let stack = ReportStack(index, in: body)
        return stack.calls.isEmpty ? nil : JoinedThread(stack: stack, wait: joined.wait)
    }

    /// The waiting goroutine of a Go program that is the cause, with its stack; nil if there is none, or if its stack is that of
    /// a thread.
    public var decidingGoroutine: (goroutine: GoroutineInfo, stack: ReportStack)? {
        guard let id = goroutineFinding?.goroutine,
            let goroutine = body.linux?.goroutines?.shown.first(where: { $0.id == id })
        else { return nil }
        let stack = goroutine.stack(ImageOrigins(body.usedImages, executable: body.procPath))
        return stack.calls.isEmpty ? nil : (goroutine, stack)
    }

    /// The stack that explains the hang: that of ``joinedThread``, of ``decidingGoroutine``, of the thread on which the main
    /// goroutine is in a system call, or of the faulting thread.
    public var decidingStack: ReportStack? {
        if let stack = joinedThread?.stack ?? decidingGoroutine?.stack { return stack }
        let thread = goroutineFinding?.thread.flatMap { id in body.threads.firstIndex { $0.id == id } }
        return thread.map { ReportStack($0, in: body) } ?? faultingStack
    }

    private var goroutineFinding: Finding? { body.linux?.findings?.first { $0.goroutine != nil } }
}
