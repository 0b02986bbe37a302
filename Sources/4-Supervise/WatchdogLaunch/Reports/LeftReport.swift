// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// A report that an earlier watchdogd has left without names.
///
/// Its stacks are gone, so its frames stay those that were found without the program's files, and get names.
///
/// Isolation: any thread, one at a time.
final class LeftReport: NamingJob {
    /// How many of the newest reports are looked at.
    static let countLimit = 16
    /// How old they may be: later, the program is probably another one.
    static let longestAge = Duration.seconds(86_400)

    let app = 0
    let incident = IncidentKey.request(0)
    let appName: String
    let pid: Int
    let id: IncidentID
    let path: String
    private let store: ReportStore
    private let named = Mutex<Report?>(nil)

    /// Nil if the report has names, or nobody tries to find them any more.
    private init?(_ stored: StoredReport, in store: ReportStore) {
        guard stored.isInStore, let report = try? store.read(stored), let id = IncidentID(report.body.incident),
            Self.isWaiting(report)
        else { return nil }
        appName = report.metadata.appName
        pid = report.body.pid
        self.id = id
        path = stored.path
        self.store = store
    }

    private static func isWaiting(_ report: Report) -> Bool {
        report.body.linux?.notes.contains(UnnamedReport.note) == true
    }

    /// Those among the newest reports of a folder, the newest first.
    static func find(in store: ReportStore, at now: WallTime) -> [LeftReport] {
        ((try? store.list()) ?? []).prefix(countLimit)
            .filter { now.since($0.modified) <= longestAge }
            .compactMap { LeftReport($0, in: store) }
    }

    func name(with symbolicator: Symbolicator) -> Bool {
        guard let name = path.split(separator: "/").last, let stored = try? store.find(String(name)),
            stored.isInStore, let report = try? store.read(stored), Self.isWaiting(report)
        else { return true }
        let symbolication = ReportSymbolication(with: symbolicator)
        guard let result = try? symbolication.run(report), result.outcome.isChange else { return false }
        named.withLock { $0 = result.report }
        return true
    }

    func report(replacing stored: Report, at time: WallTime, isWhole: Bool) -> Report? {
        guard stored.body.incident == id.description, Self.isWaiting(stored) else { return nil }
        var report = named.withLock(\.self) ?? stored
        report.takeRepeats(of: stored)
        report.body.linux?.notes.removeAll { $0 == UnnamedReport.note }
        report.body.linux?.notes.append(Self.conclusion(at: time, isWhole: isWhole))
        return report
    }
}
