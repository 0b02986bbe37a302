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

    /// The stack that explains the hang: that of ``joinedThread``, or of the faulting thread.
    public var decidingStack: ReportStack? { joinedThread?.stack ?? faultingStack }
}
