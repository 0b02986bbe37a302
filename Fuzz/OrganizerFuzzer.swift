// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

@testable import WatchdogFleet
@testable import WatchdogReport

/// Whatever stands in files of incidents, and whatever a server answers instead of Prometheus: it is counted or refused, the
/// same in one piece or in many, and can be shown in every form.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOrganizer(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let isAnswer = bytes.starts(with: #"{"status""#.utf8) || bytes.first == 0x1e
    if isAnswer { checkAnswers(bytes) } else { checkLines(bytes) }
    return 0
}

private let now = WallTime(seconds: 1_800_000_000)

/// Few names are told apart, so that the others are reached.
private let limits = {
    var limits = Organizer.Limits()
    (limits.apps, limits.versions, limits.hosts, limits.signatures) = (3, 3, 3, 6)
    (limits.places, limits.incidents) = (8, 64)
    return limits
}()

// MARK: - Lines

private struct Reading: Equatable {
    var incidents: [OrganizerIncident] = []
    var faults = 0
    var firstFault: String?

    init(_ bytes: [UInt8], pieces size: Int) {
        var lines = IncidentLines()
        let latest = now.seconds
        var read: [OrganizerIncident] = []
        let take = { (incident: OrganizerIncident) in
            read.append(incident)
            return incident.time <= latest
        }
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines.read(Array(bytes[start..<min(start + size, bytes.count)]).span, take)
        }
        lines.finish(take)
        (incidents, faults, firstFault) = (read, lines.faults, lines.firstFault)
    }
}

private func checkLines(_ bytes: [UInt8]) {
    let reading = Reading(bytes, pieces: max(1, bytes.count))
    for size in [1, 100] { precondition(Reading(bytes, pieces: size) == reading) }
    precondition(
        reading.faults <= bytes.count { $0 == 0x0a } + 1 && (reading.faults == 0) == (reading.firstFault == nil))
    if let fault = reading.firstFault { precondition(fault.utf8.count <= 120 && fault.singleLine() == fault) }
    let organizer = Organizer(now: now, limits: limits)
    for incident in reading.incidents {
        precondition(incident.time >= 0 && incident.count >= 1 && incident.frames.count <= 3)
        precondition(!incident.app.isEmpty && !incident.event.isEmpty && !incident.signature.isEmpty)
        for text in [incident.host, incident.app, incident.version, incident.event, incident.cause] + incident.frames {
            // An escape may end in a longer character.
            precondition(text.utf8.count <= LineScanner.textBytes + 3 * LineScanner.textBytes)
        }
        organizer.add(incident)
    }
    check(organizer)
}

// MARK: - Answers

private func checkAnswers(_ bytes: [UInt8]) {
    struct Unexpected: Error {}
    var answers = bytes.split(separator: 0x1e, omittingEmptySubsequences: true)[...]
    let organizer = Organizer(now: now, limits: limits)
    do {
        try PrometheusRates(since: nil, host: nil, now: now).read(into: organizer, app: nil) {
            path throws(Unexpected) in
            precondition(path.utf8.allSatisfy { (0x21...0x7e).contains($0) })
            let body =
                answers.popFirst()
                ?? Array(#"{"status":"success","data":{"resultType":"vector","result":[]}}"#.utf8)[...]
            let isRefused = body.last == 0x0a
            return (isRefused ? 422 : 200, Array(body))
        }
    } catch let failure as PrometheusAnswer.Failure {
        precondition(failure.reason.utf8.count <= 2_000 && failure.reason.singleLine() == failure.reason)
    } catch {
        preconditionFailure("\(error)")
    }
    check(organizer)
}

// MARK: - Tables

private func check(_ organizer: Organizer) {
    let table = OrganizerTable(organizer, OrganizerTable.Extent(apps: 3, signatures: 3, hosts: 3))
    precondition(table.incidents >= 0 && table.apps.count <= 3)
    precondition(organizer.apps.count <= limits.apps + 1 && organizer.episodes.count <= limits.incidents)
    for app in table.apps {
        // The one more counts the others.
        precondition(
            app.versions.count <= 2 * (limits.versions + 1) && app.signatures.count <= 3 && app.hosts.count <= 3)
        precondition(app.versions.count { $0.isLatest } <= 1)
    }
    for isUnicode in [true, false] {
        let text = OrganizerText(columns: 79, isUnicode: isUnicode).text(table)
        for line in text.split(separator: "\n") {
            precondition(line.count <= 79 && String(line).singleLine() == line)
        }
    }
    let page = OrganizerPage.render(table)
    precondition(!page.contains("<script") && !page.contains("=\"javascript:"))
    let json = OrganizerReply(table).json
    precondition((try? JSONDecoder().decode(Reply.self, from: Data(json.utf8))) != nil)
}

private struct Reply: Decodable {
    let incidents: Int
}
