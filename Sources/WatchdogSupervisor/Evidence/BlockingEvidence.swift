// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// What blocked the main thread when an incident was examined, once that is known.
///
/// The examiner reads it from the process, so a capture, which stops the process and may kill it, starts after the answer.
/// A capture does not wait longer than ``patience``: an app can delay the answer, for example with memory whose file
/// system never responds.
///
/// Isolation: the loop's thread.
final class BlockingEvidence {
    /// How long a capture waits for the answer.
    ///
    /// An examiner usually needs less than a millisecond, but 10 to 20 ms if it has to search `/proc/locks` for a file lock
    /// that another program holds, and more on a busy machine.
    static let patience = Duration.milliseconds(30)

    private var answer: BlockedThread?
    /// The answer's waits with the priorities of their threads, which are unknown after the kill.
    private var waits: [WaitDetails] = []
    private var isOver = false
    private var proceed: (() -> Void)?

    /// Notes an answer that will do if a better one comes too late.
    func note(_ answer: BlockedThread?) {
        self.answer = answer
        waits = answer?.chain?.details ?? []
    }

    /// Ends the examination with its answer; nil if there is none.
    func end(_ answer: BlockedThread?) {
        note(answer)
        isOver = true
        resume()
    }

    /// Calls a closure once: when the examination is over, or after ``patience``.
    func whenOver(by pacer: Pacer, _ proceed: @escaping () -> Void) {
        self.proceed = proceed
        guard !isOver else { return resume() }
        _ = pacer.schedule(after: Self.patience) { [weak self] in self?.resume() }
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
    }
}
