// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// What blocked the main thread when an incident was examined, once that is known.
///
/// The examiner reads it from the process; how long a capture waits for it is up to ``CaptureWait``.
///
/// Isolation: the loop's thread.
final class BlockingEvidence {
    private let pacer: Pacer
    private var wait = CaptureWait()
    private var check: Int?
    private var proceed: (() -> Void)?
    private var answer: BlockedThread?
    /// Whether the examination has ended without an answer.
    private(set) var isUnanswered = false
    /// The answer's waits with the priorities of their threads, which are unknown after the kill.
    private var waits: [WaitDetails] = []
    /// Where the wait leads across processes, once that is known.
    private(set) var trail: WaitTrail?
    /// The stacks of the processes of others on that trail.
    private(set) var trailCapture: TrailCapture?
    /// Why nothing was examined; nil if it was.
    private(set) var gap: Examiner.Refusal?

    /// Creates the evidence of an examination that begins now.
    init(_ pacer: Pacer) {
        self.pacer = pacer
        handle(.asked(.call))
    }

    deinit { pacer.cancel(check) }

    /// Notes an answer that will do if a better one comes too late.
    func note(_ answer: BlockedThread) {
        keep(answer)
        handle(.answeredInPart)
    }

    /// Ends the examination with its answer; nil if there is none.
    ///
    /// - Parameter gap: why there is none, if that is known.
    func end(_ answer: BlockedThread?, because gap: Examiner.Refusal? = nil) {
        keep(answer)
        isUnanswered = answer == nil
        self.gap = gap
        handle(.answered(.call))
    }

    private func keep(_ answer: BlockedThread?) {
        self.answer = answer
        waits = answer?.chain?.details ?? []
    }

    /// Whether it is known already that the wait leads to no other process.
    var staysInProcess: Bool { answer?.staysInProcess == true }

    /// Notes that the wait is being followed across processes.
    func follow() { handle(.asked(.trail)) }

    /// Ends that with the trail; nil if there is none.
    ///
    /// - Parameter look: begins to read the stacks of its processes.
    func followed(_ trail: WaitTrail?, look: (WaitTrail) -> TrailCapture?) {
        self.trail = trail
        trailCapture = trail.flatMap(look)
        handle(.answered(.trail))
    }

    /// Calls a closure once, when the capture begins.
    func capture(_ proceed: @escaping () -> Void) {
        self.proceed = proceed
        handle(.captureRequested)
    }

    private func handle(_ event: CaptureWait.Event) {
        let begins = wait.handle(event, at: .now())
        pacer.cancel(check)
        check = wait.deadline.map { deadline in
            pacer.schedule(after: max(.zero, deadline - .now())) { [weak self] in self?.handle(.deadlineReached) }
        }
        guard begins else { return }
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
