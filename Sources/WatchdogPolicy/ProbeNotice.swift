// SPDX-License-Identifier: Apache-2.0

/// What is worth telling of liveness probes.
public enum ProbeNotice: Hashable, Sendable {
    /// One failed, perhaps after others.
    case failed(MissedProbes)
    /// The app answers again after so many failures that were too few for an incident.
    case recovered(failures: Int)
    /// The supervisor cannot probe, for this reason; told once until it can again.
    case impossible(String)
    /// The supervisor itself slept through the end of a probe, by this much; the probe is repeated.
    case overslept(by: Duration)
    /// The main thread waited for a CPU: failures count again after this time.
    case credited(Duration)
    /// The process does not run by someone else's will: there is no use in probing it.
    case paused(Pause)
    /// It runs again, and its failures are counted anew.
    case resumed(after: Duration)
}
