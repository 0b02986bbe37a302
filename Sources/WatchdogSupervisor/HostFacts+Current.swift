// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
public import WatchdogReport

extension HostFacts {
    /// The machine that this runs on.
    static func current() -> HostFacts {
        HostFacts(
            osName: Machine.systemName,
            kernelRelease: Machine.kernelRelease,
            machineModel: Machine.hardwareModel ?? "unknown",
            hostName: Machine.hostName,
            uptimeSeconds: Machine.uptime.components.seconds,
            crashReporterKey: crashReporterKey,
            processorCount: Machine.processorCount
        )
    }

    /// Apple's key has 40 hexadecimal digits, ours is derived from the machine's id and has 32.
    private static var crashReporterKey: String {
        let digits = Machine.identifier ?? ""
        return digits + String(repeating: "0", count: max(0, 40 - digits.utf8.count))
    }
}

extension WatchdogReport.WallTime {
    /// The present, in the local time zone.
    public static func current() -> WatchdogReport.WallTime {
        let now = WatchdogLinux.WallTime.now()
        return WatchdogReport.WallTime(
            seconds: now.seconds,
            nanoseconds: Int32(now.nanoseconds),
            utcOffset: Int32(now.utcOffset.components.seconds)
        )
    }
}
