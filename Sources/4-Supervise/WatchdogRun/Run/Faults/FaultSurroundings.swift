// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// The namespaces that a run's faults need: for disks, the network and clocks.
///
/// Isolation: the loop's thread.
struct FaultSurroundings {
    let disks: FaultDisks
    /// The simulated link; nil if the run uses the machine's network.
    let network: FaultNetwork?
    /// How far the app's clocks are ahead.
    let clockLead: Duration

    /// Moves this process to the namespaces, and prepares the next launcher.
    ///
    /// Call it before the process has a second thread: unshare(2) affects only the calling thread.
    ///
    /// - Throws: ``RunError`` if this machine or user does not permit them.
    init(_ faults: [Fault]) throws(RunError) {
        let lead = try Self.clockLead(of: faults)
        let network = try FaultNetwork.make(for: faults)
        if lead > .zero { try Self.leadClocks(by: lead) }
        let disks = try FaultDisks(faults)
        (clockLead, self.network, self.disks) = (lead, network, disks)
    }

    private static func clockLead(of faults: [Fault]) throws(RunError) -> Duration {
        var longest: Duration?
        for fault in faults {
            if case .clock(let ahead) = fault.kind { longest = max(ahead, longest ?? .zero) }
        }
        guard let longest else { return .zero }
        guard longest >= .seconds(1), longest <= .seconds(100 * 365 * 86_400) else {
            throw RunError.usage("--fault clock: use 1 s to 100 years")
        }
        return .seconds(longest.components.seconds)
    }

    private static func leadClocks(by lead: Duration) throws(RunError) {
        do throws(LinuxError) {
            // Also creates the user namespace that an unprivileged user needs for the others.
            try SmallDisk.enterPrivateMounts()
        } catch {
            throw RunError.unavailable("--fault clock: cannot create a time namespace: \(error)")
        }
        LauncherProcess.leadClocks(by: lead)
    }
}
