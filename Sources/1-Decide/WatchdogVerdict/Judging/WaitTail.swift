// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The thread of the main process to which the main thread's wait leads: the main thread itself, or the last one in a
/// chain of threads that wait for each other's locks and ends.
struct WaitTail {
    let thread: CapturedThread
    /// The wait of the thread; nil if unknown.
    let wait: WaitDetails?
    let stack: NamedStack
    /// Whether it is the main thread.
    let isMain: Bool
    /// The findings from its stack.
    let findings: [Finding]
    /// `waits for the end of thread 12 "worker"`; nil for the main thread.
    private let words: String?

    /// - Parameters:
    ///   - main: the ID of the main thread, whose stack `findings` are from.
    init?(_ evidence: HangEvidence, in capture: CapturedProcess, main: Int, _ findings: [Finding]) {
        let own = evidence.waits.prefix { $0.process == evidence.waits.first?.process }
        let last = own.last
        let holder = last?.holder.flatMap { $0.process == last?.process ? $0.thread : nil }
        let isDeadlocked = own.contains(where: \.isDeadlocked)
        let id = isDeadlocked ? main : holder ?? last?.thread ?? main
        guard let thread = capture.threads.first(where: { $0.id == id }) else { return nil }
        self.thread = thread
        isMain = id == main
        // If the last wait has a holder, that is the tail, whose own wait is unknown.
        wait = isDeadlocked ? own.first : holder == nil ? last : nil
        let stack = NamedStack(thread, in: capture)
        self.stack = stack
        self.findings =
            isMain
            ? findings
            : FindingRule.all.compactMap { $0.finding(in: stack, evidence) }
                + [EventLoop(stack, hasReturned: true).finding].compactMap(\.self)
        let name = "thread \(thread.id) \"\(thread.name.singleLine(limit: 32))\""
        words =
            isMain ? nil : own.first?.holder?.relation == .ends ? "waits for the end of \(name)" : "waits for \(name)"
    }

    var isIdle: Bool { findings.contains { $0.kind == .idleEventLoop } }

    /// Describes the main thread's wait that ends with this activity of the tail.
    func meanwhile(_ deed: String) -> String { words.map { "\($0), which \(deed)" } ?? deed }

    /// The wait, if it has no owner, so that any other thread could end it; otherwise nil.
    var unowned: String? {
        guard wait?.holder == nil else { return nil }
        return findings.lazy.compactMap { Self.unowned[$0.kind] }.first
    }

    /// The same, or a wait in memory of which nothing more is known.
    var ownerless: String? {
        unowned ?? (wait?.holder == nil && findings.isEmpty && stack.syscall == "futex" ? "a lock or a wake-up" : nil)
    }

    /// Whether it waits for something that another process of the app has.
    var isForProcesses: Bool { stack.isForPythonProcesses && wait?.holder == nil }

    /// Waits without an owner, which any thread could end.
    static let unowned: [Finding.Kind: String] = [
        .dispatchSemaphore: "a semaphore", .posixSemaphore: "a semaphore", .dispatchGroup: "a group",
        .conditionVariable: "a condition", .barrier: "a barrier", .pythonLock: "a lock or an event of Python's",
        .readWriteLock: "a read-write lock", .libraryLock: "a lock of the C library", .rustLock: "a lock of Rust",
        .channel: "the other end of a channel", .future: "a future",
    ]
}
