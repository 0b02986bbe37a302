// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// Stops and resumes all processes of one launch.
///
/// Isolation: the loop's thread.
final class Freezer {
    /// The delay between checks: a cgroup freezes within a millisecond unless one of its processes is waiting for a
    /// device.
    private static let steps = Duration.milliseconds(1)...Duration.milliseconds(50)

    private let host: Host
    private let tenant: Tenant
    private let emit: (LaunchEvent) -> Void
    private var step = Duration.zero
    private var nextCheck: Int?
    private var containment: Containment?
    private var main: ExaminedProcess?

    /// Whether watchdogd has stopped the processes or is stopping them.
    var isOn: Bool { containment != nil }

    init(_ host: Host, of tenant: Tenant, emit: @escaping (LaunchEvent) -> Void) {
        self.host = host
        self.tenant = tenant
        self.emit = emit
    }

    /// Starts to stop the processes.
    ///
    /// - Parameter main: the app's main process; nil if it has ended.
    func freeze(_ containment: Containment, _ main: ExaminedProcess?) {
        self.containment = containment
        self.main = main
        step = Self.steps.lowerBound
        try? containment.suspend()
        check()
    }

    func thaw(_ containment: Containment?) {
        cancel()
        try? containment?.resume()
    }

    /// Leaves the processes as they are.
    func cancel() {
        containment = nil
        host.pacer.cancel(nextCheck)
    }

    /// No limit: the policy decides how long to wait, and also handles locks found later.
    private func check() {
        guard let containment else { return }
        guard containment.isSuspended else {
            nextCheck = host.pacer.schedule(after: step) { [weak self] in self?.check() }
            step = min(step * 2, Self.steps.upperBound)
            return
        }
        guard let main, let examiner = host.examiner else { return froze([]) }
        examiner.ask(.locks(of: main, in: containment.processes()), of: tenant) { [weak self] in
            self?.froze($0 ?? [])
        }
    }

    /// Reports that everything is stopped, unless the app was resumed during the search for its locks.
    private func froze(_ locks: [LockedFile]) {
        guard isOn else { return }
        emit(.machine(.lifecycle(.froze(locks: locks))))
    }
}
