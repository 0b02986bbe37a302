// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// Reads the lines of `report export --format ndjson`; unknown members are skipped.
struct IncidentLineDecoder {
    private static let frames = 3

    private enum Member {
        case time, host, app, version, event, role, cause, verdict, signature, incident, repeats, frames, other
    }

    /// A cache of the beginnings of days, in seconds since 1970.
    private var days: [Int: Int64] = [:]

    mutating func incident(_ bytes: Span<UInt8>) throws(LineFault) -> OrganizerIncident {
        var scanner = LineScanner()
        var incident = OrganizerIncident(time: -1, app: "", event: "", signature: "")
        var verdict = ""
        try scanner.members(bytes) { name, scanner throws(LineFault) in
            // null counts as absent.
            guard scanner.peek(bytes) != UInt8(ascii: "n") else { return try scanner.skipValue(bytes) }
            switch Self.member(bytes, name.range) {
            case .time: incident.time = try seconds(of: try scanner.string(bytes).range, bytes)
            case .host: incident.host = try scanner.text(bytes)
            case .app: incident.app = try scanner.text(bytes)
            case .version: incident.version = try scanner.text(bytes)
            case .event: incident.event = try scanner.text(bytes)
            case .role: incident.role = OrganizerIncident.Role(word: try scanner.text(bytes))
            case .cause: incident.cause = try scanner.text(bytes)
            case .verdict: verdict = try scanner.text(bytes)
            case .signature: incident.signature = try scanner.text(bytes)
            case .incident: incident.incident = try scanner.text(bytes)
            case .repeats: incident.count = Int(min(max(0, try scanner.integer(bytes)), 1_000_000_000)) + 1
            case .frames: incident.frames = try scanner.texts(bytes, atMost: Self.frames)
            case .other: try scanner.skipValue(bytes)
            }
        }
        guard scanner.peek(bytes) == nil else { throw LineFault(reason: "it has more than one JSON object") }
        if incident.cause.isEmpty { incident.cause = verdict }
        try Self.check(incident)
        return incident
    }

    private static func check(_ incident: OrganizerIncident) throws(LineFault) {
        let members = [
            ("app", incident.app), ("event", incident.event), ("signature", incident.signature),
        ]
        for (name, value) in members where value.isEmpty { throw LineFault(reason: "it has no member \"\(name)\"") }
        guard incident.time >= 0 else { throw LineFault(reason: "it has no member \"time\"") }
    }

    private static func member(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Member {
        func `is`(_ name: StaticString) -> Bool {
            guard name.utf8CodeUnitCount == range.count else { return false }
            for index in 0..<range.count where bytes[range.lowerBound + index] != name.utf8Start[index] { return false }
            return true
        }
        guard let first = range.isEmpty ? nil : bytes[range.lowerBound] else { return .other }
        switch first {
        case UInt8(ascii: "t"): return `is`("time") ? .time : .other
        case UInt8(ascii: "h"): return `is`("host") ? .host : .other
        case UInt8(ascii: "a"): return `is`("app") ? .app : .other
        case UInt8(ascii: "v"): return `is`("version") ? .version : `is`("verdict") ? .verdict : .other
        case UInt8(ascii: "e"): return `is`("event") ? .event : .other
        case UInt8(ascii: "r"): return `is`("role") ? .role : `is`("repeats") ? .repeats : .other
        case UInt8(ascii: "c"): return `is`("cause") ? .cause : .other
        case UInt8(ascii: "s"): return `is`("signature") ? .signature : .other
        case UInt8(ascii: "i"): return `is`("incident") ? .incident : .other
        case UInt8(ascii: "f"): return `is`("frames") ? .frames : .other
        default: return .other
        }
    }

    // MARK: - Times

    /// `2026-11-23T09:14:22.12Z`, truncated to seconds.
    private mutating func seconds(of range: Range<Int>, _ bytes: Span<UInt8>) throws(LineFault) -> Int64 {
        func number(_ offset: Int, _ count: Int) -> Int? {
            var value = 0
            for index in offset..<(offset + count) {
                let byte = bytes[range.lowerBound + index]
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
        guard (20...40).contains(range.count), bytes[range.upperBound - 1] == UInt8(ascii: "Z"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), hour < 24, minute < 60, second <= 60,
            let midnight = midnight(year, month, day)
        else {
            throw LineFault(reason: "its time is not in UTC, such as 2026-11-23T09:14:22Z")
        }
        return midnight + Int64(hour * 3_600 + minute * 60 + second)
    }

    private mutating func midnight(_ year: Int, _ month: Int, _ day: Int) -> Int64? {
        let key = (year * 100 + month) * 100 + day
        if let known = days[key] { return known }
        let date = "\(year.padded(4))-\(month.padded(2))-\(day.padded(2))"
        guard let seconds = WallTime("\(date) 00:00:00 +0000")?.seconds else { return nil }
        if days.count > 10_000 { days = [:] }
        days[key] = seconds
        return seconds
    }
}
