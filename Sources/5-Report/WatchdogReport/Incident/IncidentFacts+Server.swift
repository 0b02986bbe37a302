// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

extension IncidentFacts {
    /// The judged trail of the wait; that of a worker starts with the probe.
    func judgedTrail(_ app: String, _ capture: CapturedProcess?) -> TrailDetails? {
        guard let server else { return trail?.judged(by: app, pid: pid, processes: others + strangers) }
        var worker = OtherProcess(pid: pid, parentPID: parentPID, name: server.name, state: evidence.state ?? "?")
        worker.capture = capture
        let hop = TrailDetails.Hop(
            link: server.hasAccepted ? .reply : .acceptance, process: pid, name: server.name, sight: .whole,
            thread: mainThread ?? pid, state: String(worker.state), wait: evidence.waits.first)
        let whole = trail?.beginning(with: hop) ?? TrailDetails(hops: [hop])
        return whole?.judged(by: "the probe", pid: 0, processes: [worker] + others + strangers)
    }
}

extension Verdict {
    /// Rewrites the line for a worker's thread.
    mutating func attribute(to worker: String) {
        for subject in ["Main thread ", "Process "] where line.hasPrefix(subject) {
            line = "\(worker) " + line.dropFirst(subject.count)
            return
        }
    }
}
