// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy
import WatchdogReport

extension LinuxKernel {
    /// Takes the stacks of an app that is in no trouble, and writes a report; the app runs on.
    ///
    /// The machine is not asked: nothing is decided by it.
    func captureOnRequest(then tell: @escaping (ReportOutcome) -> Void) {
        lastRequestedCapture -= 1
        let incident = Incident(
            requestedAs: lastRequestedCapture, at: now, evidence: inspectOnRequest(),
            state: supervisor?.machine.lifecycleState ?? .foreground)
        requestedCaptures[incident.id] = tell
        capture(incident)
    }

    /// Evidence counts from the last sign of life; without one there is only the state of the main thread.
    private func inspectOnRequest() -> Evidence {
        if window == nil { beginWindow() }
        return inspect()
    }

    /// Writes the report of a requested capture; returns false if it was the machine's.
    func finishRequestedCapture(_ incident: Int, _ outcome: CaptureOutcome) -> Bool {
        guard requestedCaptures[incident] != nil else { return false }
        captures[incident] = outcome
        report(Incident(requestedAs: incident, at: now, evidence: nil))
        return true
    }

    /// Tells who asked for a capture; returns false if it was the machine's.
    func tellRequestedCapture(_ incident: Int, _ outcome: ReportOutcome) -> Bool {
        guard let tell = requestedCaptures.removeValue(forKey: incident) else { return false }
        tell(outcome)
        return true
    }
}
