// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogRendering
import WatchdogReport
public import WatchdogReportStore

extension ReportArchive {
    /// What all incidents of a signature share.
    private struct Fault {
        let signature: String
        let cause: String
        let frames: [String]
    }

    /// Visits the incidents that pass a filter by app and time: the files, then the journal's, each newest first.
    ///
    /// Of the journal's reports, one of each signature is read: entries name the signature, and the rest of what is
    /// counted, in short fields. Reading a whole report takes a thousand times as long.
    ///
    /// - Parameter visit: called with each incident, or with the error, and with the place of the report.
    public func forEachIncident(
        _ filter: ReportFilter,
        _ visit: (_ incident: Result<OrganizerIncident, ReportStoreError>, _ place: () -> String) -> Void
    ) throws(ReportStoreError) {
        func visitWhole(_ stored: StoredReport, _ result: Result<Report, ReportStoreError>) {
            visit(
                result.map { OrganizerIncident(IncidentLine(of: $0, host: stored.host)) },
                { stored.path })
        }
        guard let journal, filter.limit == nil else {
            try forEach(filter, visitWhole)
            return
        }
        let files = try stored(filter)
        visitEach(of: files.passing, visitWhole)
        let known = Set(files.all.compactMap { $0.metadata?.incidentID })
        var faults: [String: Fault] = [:]
        // Incidents that are newer than the entry with the report of their signature.
        var waiting: [String: [OrganizerIncident]] = [:]
        var done = files.passing.count
        func visitEntry(_ incident: OrganizerIncident) {
            visit(.success(incident), { "the journal entry of \(incident.incident) on \(incident.host)" })
        }
        func explained(_ incident: OrganizerIncident, _ fault: Fault) -> OrganizerIncident {
            var incident = incident
            (incident.signature, incident.cause, incident.frames) = (fault.signature, fault.cause, fault.frames)
            return incident
        }
        journal.scanIncidents(filter, host: sources.host) { entry in
            guard let id = entry.incident, !known.contains(id) else { return }
            // A file already contains the count of its repeats.
            guard !entry.isRepeat || store == nil else { return }
            onProgress(done, nil)
            done += 1
            let incident = entry.summary
            if let signature = entry.signature {
                if let fault = faults[signature] { return visitEntry(explained(incident, fault)) }
                guard !entry.isRepeat, journal.carriesReport else {
                    waiting[signature, default: []].append(incident)
                    return
                }
            }
            let stored = journal.stored(.init(incident: id, time: entry.time, sender: entry.user))
            let result = journal.readingCurrent(stored)
            guard let signature = entry.signature, let report = try? result.get() else {
                return visitWhole(stored, result)
            }
            let line = IncidentLine(of: report, host: stored.host)
            let fault = Fault(signature: line.signature, cause: line.cause, frames: line.frames)
            faults[signature] = fault
            for incident in [incident] + (waiting.removeValue(forKey: signature) ?? []) {
                visitEntry(explained(incident, fault))
            }
        }
        // Without a report, an entry still tells the kind of the verdict.
        for incident in waiting.values.joined() { visitEntry(incident) }
    }
}

extension OrganizerIncident {
    init(_ line: IncidentLine) {
        self.init(
            time: line.wallTime?.seconds ?? -1, host: line.host ?? "", app: line.app, version: line.version ?? "",
            event: line.event,
            role: Role(word: line.role ?? ""), cause: line.cause, signature: line.signature, incident: line.incident,
            frames: line.frames, count: min(line.repeats ?? 0, 1_000_000_000) + 1)
    }
}
