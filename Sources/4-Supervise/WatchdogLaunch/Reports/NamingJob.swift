// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogReport

/// A report that lacks names, which are looked for again.
///
/// Isolation: any thread, one at a time.
protocol NamingJob: Sendable {
    /// The launch; 0 if there is none.
    var app: Int { get }
    var incident: IncidentKey { get }
    var appName: String { get }
    var pid: Int { get }
    var id: IncidentID { get }
    var path: String { get }

    /// Looks for the names.
    ///
    /// - Returns: whether there is nothing left to look for.
    func name(with symbolicator: Symbolicator) -> Bool

    /// The report as it should be now.
    ///
    /// - Parameters:
    ///   - stored: the report as it is on the disk.
    ///   - time: the time now.
    ///   - isWhole: whether the latest ``name(with:)`` returned true.
    /// - Returns: nil if somebody else has changed it.
    func report(replacing stored: Report, at time: WallTime, isWhole: Bool) -> Report?
}

extension NamingJob {
    /// What the report says when nothing is tried any more.
    static func conclusion(at time: WallTime, isWhole: Bool) -> String {
        let moment = time.text(fractionDigits: 0)
        return isWhole
            ? "The names were added at \(moment), after the report was written."
            : "Names are still missing at \(moment), and watchdogd does not try again; "
                + "'watchdogd report symbolicate' may find them."
    }
}
