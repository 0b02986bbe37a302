// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogRendering
public import WatchdogReport
public import WatchdogReportStore

extension ReportArchive {
    /// Reads the reports that pass a filter, one at a time: the files, then the journal's, each newest first.
    ///
    /// - Parameter visit: called with each report, or with the error.
    public func forEach(
        _ filter: ReportFilter, _ visit: (StoredReport, Result<Report, ReportStoreError>) -> Void
    ) throws(ReportStoreError) {
        if let limit = filter.limit {
            visitEach(of: try list(filter, atMost: limit).reports, visit)
            return
        }
        let files = try stored(filter)
        visitEach(of: files.passing, visit)
        guard let journal else { return }
        var done = files.passing.count
        var seen = Set(files.all.compactMap { $0.metadata?.incidentID })
        journal.scan(filter, host: sources.host) { announcement in
            guard !journal.isRepeat, seen.insert(announcement.incident).inserted else { return true }
            onProgress(done, nil)
            done += 1
            let stored = journal.stored(announcement)
            visit(stored, journal.readingCurrent(stored))
            return true
        }
    }

    func visitEach(
        of reports: [StoredReport], _ visit: (StoredReport, Result<Report, ReportStoreError>) -> Void
    ) {
        for (done, stored) in reports.enumerated() {
            onProgress(done, journal == nil ? reports.count : nil)
            visit(stored, reading(stored))
        }
    }

    func reading(_ stored: StoredReport) -> Result<Report, ReportStoreError> {
        Result { () throws(ReportStoreError) in try salvage(stored).report }
    }

    /// Counts the reports that pass a filter by signature.
    ///
    /// Of the journal's reports, only one of each signature is read in full: the others have the signature's ID in a
    /// field.
    ///
    /// - Returns: the groups, and the errors of unreadable reports.
    public func groups(
        _ filter: ReportFilter
    ) throws(ReportStoreError) -> (groups: [ReportGroup], failures: [ReportStoreError]) {
        var tally = ReportTally()
        var failures: [ReportStoreError] = []
        func add(_ stored: StoredReport, _ result: Result<Report, ReportStoreError>) {
            switch result {
            case .success(let report): tally.add(report)
            case .failure(let error): failures.append(error)
            }
        }
        guard let journal, filter.limit == nil else {
            try forEach(filter, add)
            return (tally.groups, failures)
        }
        let files = try stored(filter)
        visitEach(of: files.passing, add)
        var seen = Set(files.all.compactMap { $0.metadata?.incidentID })
        var signatures: [String: Signature] = [:]
        // Repeats that are newer than the report that counts them.
        var repeats: [String: [(time: WallTime, incident: String)]] = [:]
        var done = files.passing.count
        journal.scan(filter, host: sources.host) { announcement in
            let (time, incident) = (announcement.time, announcement.incident)
            guard seen.insert(incident).inserted else { return true }
            onProgress(done, nil)
            done += 1
            let id = journal.signature
            let isRepeat = journal.isRepeat
            // A file already contains the count of its repeats.
            guard !isRepeat || store == nil else { return true }
            if let id, let signature = signatures[id] {
                tally.add(signature, at: time, incident: incident)
            } else if isRepeat {
                if let id { repeats[id, default: []].append((time, incident)) }
            } else {
                let stored = journal.stored(announcement)
                let result = journal.readingCurrent(stored)
                add(stored, result)
                guard let id, let report = try? result.get() else { return true }
                let signature = Signature(of: report)
                signatures[id] = signature
                for incident in repeats.removeValue(forKey: id) ?? [] {
                    tally.add(signature, at: incident.time, incident: incident.incident)
                }
            }
            return true
        }
        return (tally.groups, failures)
    }
}

extension JournalReports {
    func readingCurrent(_ stored: StoredReport) -> Result<Report, ReportStoreError> {
        Result { () throws(ReportStoreError) in try salvageCurrent(stored).report }
    }
}
