// SPDX-License-Identifier: Apache-2.0

/// What liveness probes report.
public enum ProbeNotice: Hashable, Sendable {
    /// A probe failed, perhaps after others.
    case failed(MissedProbes)
    /// The app answers again after this many failures, too few for an incident.
    case recovered(failures: Int)
    /// The supervisor cannot probe, for this reason; reported once until it can again.
    case impossible(String)
    /// The supervisor overslept the end of a probe by this much; the probe is repeated.
    case overslept(by: Duration)
    /// The main thread waited for a CPU: failures have no consequence for this long.
    case credited(Duration)
    /// The process is stopped, frozen or traced by somebody else, so that probing it is pointless.
    case paused(Pause)
    /// The process runs again, and its failures are counted from zero.
    case resumed(after: Duration)
}
