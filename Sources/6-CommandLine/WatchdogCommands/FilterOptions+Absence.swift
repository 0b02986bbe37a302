// SPDX-License-Identifier: Apache-2.0

import WatchdogFleet
import WatchdogRendering

extension FilterOptions {
    /// The text instead of an empty list: where there is no report, or that none passes the filters.
    func absence(in location: ReportsOption) -> String {
        let isFiltered = [location.host, app, event, verdict, since].contains { $0 != nil }
        guard isFiltered else {
            let folder = location.folder.map { "in \($0)" }
            let journal = location.journal.map { $0 == ReportsOption.local ? "in the journal" : "in \($0)" }
            return "No reports \([folder, journal].compactMap(\.self).joined(separator: ", or ")).\n"
        }
        var unfiltered = location
        unfiltered.host = nil
        // Reading the list has already reported what cannot be read.
        let all = (try? unfiltered.open()).flatMap { try? $0.list(ReportFilter(), atMost: ReportListing.usualLimit) }
        return filter.absence(
            host: location.host, since: since, among: all?.reports ?? [], isCut: all?.isCut ?? false)
    }
}
