// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogVerdict

/// What blocked the main thread when an incident was examined, once that is known.
///
/// The examiner reads it from the process, so a capture, which stops the process and may kill it, starts after the answer.
/// A capture does not wait longer than ``patience``: an app can delay the answer, for example with memory whose file
/// system never responds. If the first question, which only concerns the app, has been answered, it waits up to
/// ``searchPatience`` for the second one.
///
/// Isolation: the loop's thread.
final class BlockingEvidence {
    /// How long a capture waits for the answer.
    ///
    /// An examiner usually needs less than a millisecond, and more on a busy machine.
    static let patience = Duration.milliseconds(30)
    /// How long a capture waits for the search of `/proc/locks` for a file lock that another program holds.
    ///
    /// It takes 10 to 20 ms, and 30 to 50 ms where programs hold ten thousand locks.
    static let searchPatience = Duration.milliseconds(100)

    private var answer: BlockedThread?
    /// The answer's waits with the priorities of their threads, which are unknown after the kill.
    private var waits: [WaitDetails] = []
    /// Where the wait leads across processes, once that is known.
    private(set) var trail: WaitTrail?
    /// The stacks of the processes of others on that trail.
    private(set) var trailCapture: TrailCapture?
    private var isExamined = false
    private var isFollowing = false
    private var isOver: Bool { isExamined && !isFollowing }
    /// Why nothing was examined; nil if it was.
    private(set) var gap: Examiner.Refusal?
    private var proceed: (() -> Void)?

    /// Notes an answer that will do if a better one comes too late.
    func note(_ answer: BlockedThread?) {
        self.answer = answer
        waits = answer?.chain?.details ?? []
    }

    /// Ends the examination with its answer; nil if there is none.
    ///
    /// - Parameter gap: why there is none, if that is known.
    func end(_ answer: BlockedThread?, because gap: Examiner.Refusal? = nil) {
        note(answer)
        self.gap = gap
        isExamined = true
        if isOver { resume() }
    }

    /// Notes that the wait is being followed across processes, which a capture waits for no longer than ``patience``.
    func follow() { isFollowing = true }

    /// Ends that with the trail; nil if there is none.
    ///
    /// - Parameter look: begins to read the stacks of its processes.
    func followed(_ trail: WaitTrail?, look: (WaitTrail) -> TrailCapture?) {
        self.trail = trail
        trailCapture = trail.flatMap(look)
        isFollowing = false
        if isOver { resume() }
    }

    /// Calls a closure once: when the examination is over, or after ``patience`` or ``searchPatience``.
    func whenOver(by pacer: Pacer, _ proceed: @escaping () -> Void) {
        self.proceed = proceed
        guard !isOver else { return resume() }
        _ = pacer.schedule(after: Self.patience) { [weak self, unowned pacer] in self?.waitForSearch(by: pacer) }
    }

    private func waitForSearch(by pacer: Pacer) {
        guard answer != nil, !isExamined else { return resume() }
        _ = pacer.schedule(after: Self.searchPatience - Self.patience) { [weak self] in self?.resume() }
    }

    private func resume() {
        let proceed = proceed
        self.proceed = nil
        proceed?()
    }

    func complete(_ evidence: inout HangEvidence) {
        guard let answer else { return }
        evidence.syscall = answer.syscall
        evidence.waits = waits
        evidence.besides = answer.besides.map { $0.details }
    }
}
