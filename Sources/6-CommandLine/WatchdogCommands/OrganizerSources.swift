// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogFleet
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// Feeds the organizer from all that the command line names.
struct OrganizerSources {
    let location: ReportsOption
    /// Files of lines; `-` is standard input.
    let lines: [String]
    /// Files of histories.
    let history: [String]
    /// The only app that counts; nil for all.
    var app: String?
    /// When everything begins that counts.
    var since: WallTime?
    /// The server with the recording rules.
    var prometheus: WebAddress?

    private static let chunk = 1 << 20

    func read(into organizer: Organizer) throws {
        let isReporting = location.reports != nil || location.journal != nil
        let isNamed = isReporting || !lines.isEmpty || !history.isEmpty || prometheus != nil
        if !isNamed || isReporting { try readReports(into: organizer) }
        for path in lines { try readLines(path, into: organizer) }
        if let prometheus { try readRates(prometheus, into: organizer) }
        if isNamed {
            for path in history { try readHistory(path, into: organizer) }
        } else if access(DaemonPlaces.historyPath(), R_OK) == 0 {
            try readHistory(DaemonPlaces.historyPath(), into: organizer)
        }
    }

    // MARK: - Reports

    private func readReports(into organizer: Organizer) throws {
        let archive = try location.open()
        let progress = WorkProgress()
        try location.reading(archive, showing: progress) { archive in
            try archive.forEachIncident(ReportFilter(app: app, since: since)) { result, place in
                do {
                    guard !organizer.add(try result.get()) else { return }
                    progress.clear()
                    let path = place().singleLine(limit: 4_096)
                    StandardError.say("\(path) was not counted: its time is missing or in the future")
                } catch {
                    progress.clear()
                    StandardError.say("\(error)")
                }
            }
        }
    }

    // MARK: - Lines

    private func readLines(_ path: String, into organizer: Organizer) throws {
        let isInput = path == "-"
        let file = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Self.failure(path, errno) }
        defer { if !isInput { close(file) } }
        var incidents = IncidentLines()
        let (host, app) = (location.host?.lowercased(), app)
        let (earliest, isFiltered) = (since?.seconds ?? .min, host != nil || app != nil)
        let count = { (incident: OrganizerIncident) -> Bool in
            if incident.time < earliest { return true }
            if isFiltered {
                if let host, incident.host.lowercased() != host { return true }
                if let app, !Wildcard.selects(incident.app, by: app) { return true }
            }
            return organizer.add(incident)
        }
        let progress = WorkProgress()
        defer { progress.clear() }
        var (done, status) = (0, stat())
        let size = fstat(file, &status) == 0 && status.st_size > 0 ? Int(status.st_size) >> 20 : nil
        var buffer = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            let length = buffer.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if length < 0, errno == EINTR { continue }
            guard length >= 0 else { throw Self.failure(path, errno) }
            guard length > 0 else { break }
            done += length
            progress.show(done >> 20, of: size, "reading incidents, MiB")
            incidents.read(buffer.span.extracting(0..<length), count)
        }
        incidents.finish(count)
        progress.clear()
        guard let fault = incidents.firstFault else { return }
        let name = isInput ? "standard input" : path.singleLine(limit: 4_096)
        let others = incidents.faults > 1 ? "; \(incidents.faults) lines in all are not incidents and were skipped" : ""
        StandardError.say("\(name), \(fault)\(others)")
    }

    private static func failure(_ path: String, _ errno: Int32) -> ExitCode {
        Failure.exit(
            for: ReportStoreError(reading: "read", path, errno: errno, code: errno == ENOENT ? .notFound : .failed))
    }

    // MARK: - Histories

    private func readHistory(_ path: String, into organizer: Organizer) throws {
        var location = HistoryLocation()
        location.history = path
        let host = self.location.host?.lowercased()
        try location.read(of: nil) { reader throws(HistoryError) in
            for name in try reader.apps() where app.map({ Wildcard.selects(name, by: $0) }) ?? true {
                let entries = try reader.entries(of: name, since: since)
                if let host, !entries.contains(where: { $0.isOf(host) }) { continue }
                organizer.add(entries.map(OrganizerEvent.init).sorted { $0.time < $1.time }, of: name)
            }
        }
    }
}

extension HistoryEntry {
    /// Whether a launch was on this host; hangs and ends do not tell.
    fileprivate func isOf(_ host: String) -> Bool {
        if case .launch(let launch) = self { launch.host.lowercased() == host } else { false }
    }
}

extension OrganizerEvent {
    fileprivate init(_ entry: HistoryEntry) {
        switch entry {
        case .launch(let launch):
            // A resume starts no process; of a launch that was only assumed to be complete, nothing was measured.
            self =
                launch.kind == .launch && launch.outcome != .failed && !launch.isAssumed
                ? .launch(
                    time: launch.time.seconds, version: launch.version.name, host: launch.host,
                    duration: launch.duration)
                : .other(time: launch.time.seconds)
        case .completion(let completion): self = .other(time: completion.time.seconds)
        case .hang(let hang):
            self = .hang(time: hang.time.seconds, version: hang.version.name, duration: hang.duration)
        case .termination(let end):
            self = .termination(
                time: end.time.seconds, version: end.version.name, reason: end.reason.rawValue, event: end.event,
                isForeground: end.isForeground)
        }
    }
}
