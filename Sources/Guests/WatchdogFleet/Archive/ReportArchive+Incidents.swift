// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogRendering
import WatchdogReport
public import WatchdogReportStore

extension ReportArchive {
    /// Visits the incidents that pass a filter by app and time: the files, then the journal's, each newest first.
    ///
    /// Of each signature, one report is read: the first lines of the others, and the journal's short fields, name the
    /// signature and the rest of what is counted. Reading a whole report takes a hundred times as long.
    ///
    /// - Parameter visit: called with each incident, or with the error, and with the place of the report.
    public func forEachIncident(
        _ filter: ReportFilter,
        _ visit: (_ incident: Result<OrganizerIncident, ReportStoreError>, _ place: () -> String) -> Void
    ) throws(ReportStoreError) {
        func visitWhole(_ stored: StoredReport, _ line: Result<IncidentLine, ReportStoreError>) {
            visit(line.map { OrganizerIncident($0) }, { stored.path })
        }
        func line(
            _ stored: StoredReport, _ report: Result<Report, ReportStoreError>
        ) -> Result<IncidentLine, ReportStoreError> {
            report.map { IncidentLine(of: $0, host: stored.host) }
        }
        guard filter.limit == nil else {
            try forEach(filter) { stored, report in visitWhole(stored, line(stored, report)) }
            return
        }
        var faults = SignatureFaults()
        var known: Set<String> = []
        var done = 0
        try visitFiles { stored, files in
            if journal != nil, let id = stored.metadata?.incidentID { known.insert(id) }
            guard passes(stored, filter) else { return }
            onProgress(done, journal == nil ? files : nil)
            done += 1
            if let incident = OrganizerIncident(stored), let explained = faults.explained(incident) {
                visit(.success(explained), { stored.path })
            } else {
                let line = line(stored, reading(stored))
                if case .success(let line) = line { faults.learn(line) }
                visitWhole(stored, line)
            }
        }
        guard let journal else { return }
        func visitEntry(_ incident: OrganizerIncident) {
            visit(.success(incident), { "the journal entry of \(incident.incident) on \(incident.host)" })
        }
        journal.scanIncidents(filter, host: sources.host) { entry in
            guard let id = entry.incident, !known.contains(id) else { return }
            // A file already contains the count of its repeats.
            guard !entry.isRepeat || store == nil else { return }
            onProgress(done, nil)
            done += 1
            let incident = entry.summary
            if entry.signature != nil {
                if let explained = faults.explained(incident) { return visitEntry(explained) }
                guard !entry.isRepeat, journal.carriesReport else { return faults.postpone(incident) }
            }
            let stored = journal.stored(.init(incident: id, time: entry.time, sender: entry.user))
            let line = line(stored, journal.readingCurrent(stored))
            guard let signature = entry.signature, case .success(let line) = line else {
                return visitWhole(stored, line)
            }
            for incident in faults.learn(line, as: signature, with: incident) { visitEntry(incident) }
        }
        // Without a report, an entry still tells the kind of the verdict.
        for incident in faults.unexplained { visitEntry(incident) }
    }

    /// Visits all files, with their number.
    private func visitFiles(_ visit: (StoredReport, Int) -> Void) throws(ReportStoreError) {
        guard let store else { return }
        let problems = try store.visitHosts { report, files in
            visit(report, files)
            return true
        }
        note(problems)
    }
}

/// What all incidents of a signature share, from the one report of each that was read.
private struct SignatureFaults {
    private struct Fault {
        let signature: String
        let cause: String
        let frames: [String]

        init(_ line: IncidentLine) {
            (signature, cause, frames) = (line.signature, line.cause, line.frames)
        }
    }

    private var faults: [String: Fault] = [:]
    /// Incidents that are newer than the entry with the report of their signature.
    private var waiting: [String: [OrganizerIncident]] = [:]

    /// Those of whose signature there was no report.
    var unexplained: [OrganizerIncident] { waiting.values.flatMap(\.self) }

    /// An incident with its cause and calls; nil if no report of its signature has been read.
    func explained(_ incident: OrganizerIncident) -> OrganizerIncident? {
        faults[incident.signature].map { Self.explained(incident, $0) }
    }

    private static func explained(_ incident: OrganizerIncident, _ fault: Fault) -> OrganizerIncident {
        var incident = incident
        (incident.signature, incident.cause, incident.frames) = (fault.signature, fault.cause, fault.frames)
        return incident
    }

    /// Keeps an incident until a report of its signature has been read.
    mutating func postpone(_ incident: OrganizerIncident) {
        waiting[incident.signature, default: []].append(incident)
    }

    /// Takes what a report says about its signature.
    mutating func learn(_ line: IncidentLine) {
        faults[line.signature] = Fault(line)
    }

    /// Takes what an entry's report says about the entry's signature; returns what that explains.
    mutating func learn(
        _ line: IncidentLine, as signature: String, with incident: OrganizerIncident
    ) -> [OrganizerIncident] {
        let fault = Fault(line)
        faults[signature] = fault
        return ([incident] + (waiting.removeValue(forKey: signature) ?? [])).map { Self.explained($0, fault) }
    }
}

extension OrganizerIncident {
    init(_ line: IncidentLine) {
        self.init(
            time: line.wallTime?.seconds ?? -1, host: line.host ?? "", app: line.app, version: line.version ?? "",
            event: line.event,
            role: Role(word: line.role ?? ""), cause: line.cause, signature: line.signature, incident: line.incident,
            frames: line.frames, count: Self.count(line.repeats))
    }

    /// The incident as far as a report's first line tells: without the app's calls; nil if it names no signature.
    fileprivate init?(_ stored: StoredReport) {
        guard let metadata = stored.metadata, let linux = metadata.linux, let signature = linux.signature,
            let time = WallTime(metadata.timestamp)
        else { return nil }
        self.init(
            time: time.seconds, host: stored.host ?? linux.host ?? "", app: metadata.appName,
            version: metadata.version ?? "", event: linux.event, role: Role(word: linux.role ?? ""),
            cause: linux.verdict, signature: signature, incident: metadata.incidentID, count: Self.count(linux.repeats))
    }

    private static func count(_ repeats: Int?) -> Int { min(max(0, repeats ?? 0), 1_000_000_000) + 1 }
}
