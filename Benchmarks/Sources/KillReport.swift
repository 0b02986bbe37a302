// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase
import WatchdogReport
import WatchdogVerdict

extension LinuxDetails {
    /// What a report on disk says of Linux.
    static func read(_ path: String) throws -> LinuxDetails {
        guard let data = FileManager.default.contents(atPath: path) else { throw Failure("\(path) cannot be read") }
        return try ReportCoding.decode(Array(data)).body.linux.unwrapped(or: "\(path) has no linux object")
    }
}

extension AllowanceDetails {
    /// How far the deadline moved: because the program had to wait for a CPU, was granted more time, or was stopped.
    var postponement: Duration { .nanoseconds(creditNanoseconds + extendedNanoseconds + pausedNanoseconds) }
}
