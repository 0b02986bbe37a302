// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering

/// The termination message of a daemon: the last kill, crash or failed launch of any app.
///
/// It is written at once, because whoever ends the container may kill the daemon.
///
/// Isolation: any thread; only ``finish(within:)`` waits.
final class LastFailureFile: Sendable {
    private struct State {
        /// What is not yet written; a newer message replaces it.
        var pending: String?
        /// The headlines of the latest failures, the last one at the end.
        var recent: [String] = []
        /// When the last one happened.
        var time = WallTime(seconds: 0)
    }

    /// How many failures may happen while a report is being written.
    private static let kept = 64

    private let file: TerminationMessageFile
    private let queue = DispatchQueue(label: "org.watchdogd.termination")
    private let work = DispatchGroup()
    private let state = Mutex(State())

    /// Checks the file; one that cannot be written to is one warning, and nil.
    init?(_ path: String) {
        guard let file = TerminationMessageFile(path) else { return nil }
        self.file = file
    }

    /// Writes a message beside the loop.
    ///
    /// - Parameters:
    ///   - headline: what happened, in one line.
    ///   - report: nil if there is none yet; with it, what was noted before is noted again.
    func note(_ headline: String, _ report: ReportOutcome? = nil, at time: WallTime = .now()) {
        let isFirst = state.withLock { state in
            if report != nil, state.recent.contains(headline) {
                // Another app may have failed since.
                guard state.recent.last == headline else { return false }
            } else {
                state.recent = state.recent.suffix(Self.kept - 1) + [headline]
                state.time = time
            }
            defer {
                state.pending = TerminationMessage.text(
                    headline, at: LocalZone.text(state.time), report?.explanation, report: report?.path)
            }
            return state.pending == nil
        }
        guard isFirst else { return }
        queue.async(group: work) { [self] in
            let text = state.withLock { state in
                defer { state.pending = nil }
                return state.pending
            }
            file.write(text)
        }
    }

    /// Waits until the last message is written, but no longer than `patience`.
    func finish(within patience: Duration = .seconds(1)) {
        _ = work.wait(timeout: .now() + .nanoseconds(Int(patience.nanoseconds)))
    }
}
