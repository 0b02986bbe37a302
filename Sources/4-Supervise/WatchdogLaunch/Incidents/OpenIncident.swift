// SPDX-License-Identifier: Apache-2.0

package import WatchdogCapture
import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport

/// Identifies one open incident of a launch, also across threads.
package enum IncidentKey: Hashable, Sendable {
    /// An incident that the machine decided, by its id.
    case judged(Int)
    /// A hang that ended by itself, by its number.
    case hang(Int)
    /// A capture on request, by its number.
    case request(Int)
    /// The end of the launch, which happens only once.
    case crash
}

/// Something whose report is not written yet.
package struct OpenIncident {
    package enum Kind {
        /// The machine decided it.
        case judged(Incident)
        /// The app answered before its allowance ran out.
        case hang(Hang)
        /// Somebody requested the stacks of a healthy app and receives the outcome.
        case requested(LaunchRecord, tell: (ReportOutcome) -> Void)
        /// The app ended unexpectedly.
        case crash(Crash)
    }

    package var kind: Kind
    /// The facts that had to be read before the process was gone.
    var facts: IncidentFacts?
    /// The process that should have answered, if the report is about that one.
    package var server: ServerEvidence?
    /// What the examiner finds in the meantime.
    var blocking: BlockingEvidence?
    /// The stacks at the time of the incident; nil until they are captured.
    package var capture: CaptureOutcome?
    /// The stacks of the app's other processes.
    var others = TreeSnapshot()
    /// The descriptor that the capture thread kills through; the thread must not open files.
    var killDescriptor: OwnedDescriptor?
    /// Makes reports wait until the kill is sent; nil if nothing is killed.
    var dueKill: DueKill?
    /// The samples taken before the incident.
    var watch: HangWatch?
    /// The saved id of the report; nil if the next watchdogd does not have to write it.
    var pendingReport: IncidentID?
    /// Whether the report is being written.
    var isBeingWritten = false
}

/// The outcome of a capture.
package enum CaptureOutcome: Sendable {
    /// The stacks of the main process were captured.
    case taken(Snapshot)
    /// There was no capture, only the samples from before.
    case sampled
    /// The capture failed for this reason.
    case failed(String)
}
