// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// When a capture begins: with the answers of an examiner, or without them.
///
/// A capture stops the process and may kill it, and then nobody can find out what its main thread was blocked in. So it
/// waits for the answer, but only for ``patience``: an app can delay it, for example with memory whose file system
/// never responds. If the first question, which concerns only the app, is answered by then, the capture waits up to
/// ``searchPatience`` for the rest.
///
/// It holds for every capture, of an app that is to be killed as of a healthy one.
///
/// Isolation: a value; its holder serializes the calls.
public struct CaptureWait: Hashable, Sendable {
    /// What an examiner is asked.
    public enum Question: Hashable, Sendable {
        /// What the main thread is blocked in.
        case call
        /// Where its wait leads across processes.
        case trail
    }

    /// What happened.
    public enum Event: Hashable, Sendable {
        /// An examiner was asked.
        case asked(Question)
        /// ``Question/call`` is answered as far as the app goes; who holds a file lock is still searched for.
        case answeredInPart
        /// The answer came, or it is known that none will come.
        case answered(Question)
        /// Somebody wants the stacks.
        case captureRequested
        /// ``CaptureWait/deadline`` was reached.
        case deadlineReached
    }

    /// How long a capture waits for the answer.
    ///
    /// An examiner usually needs less than a millisecond, and more on a busy machine.
    public static let patience = Duration.milliseconds(30)
    /// How long a capture waits for the search of `/proc/locks` for a file lock that another program holds.
    ///
    /// It takes 10 to 20 ms, and 30 to 50 ms where programs hold ten thousand locks.
    public static let searchPatience = Duration.milliseconds(100)

    /// When ``Event/deadlineReached`` must be delivered; nil unless a capture waits.
    public private(set) var deadline: Instant?
    private var open: Set<Question> = []
    private var isAnsweredInPart = false
    private var isSearchAwaited = false

    /// Creates a wait for nothing: no question is open.
    public init() {}

    /// Handles an event; returns whether the capture begins now.
    public mutating func handle(_ event: Event, at now: Instant) -> Bool {
        switch event {
        case .asked(let question): open.insert(question)
        case .answeredInPart: isAnsweredInPart = true
        case .answered(let question): open.remove(question)
        case .captureRequested:
            deadline = now + Self.patience
            isSearchAwaited = false
        case .deadlineReached:
            guard let deadline, now >= deadline else { return false }
            guard isAnsweredInPart, open.contains(.call), !isSearchAwaited else { return begin() }
            isSearchAwaited = true
            self.deadline = deadline + (Self.searchPatience - Self.patience)
        }
        return deadline != nil && open.isEmpty ? begin() : false
    }

    private mutating func begin() -> Bool {
        deadline = nil
        return true
    }
}
