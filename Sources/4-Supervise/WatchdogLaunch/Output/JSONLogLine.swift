// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogLinux
import WatchdogReport

/// How watchdogd writes its own messages.
public enum LogFormat: String, Sendable, CaseIterable {
    /// Lines for people.
    case text
    /// One JSON object a line, for log pipelines.
    case json
}

/// How important a message is.
public enum LogLevel: String, Sendable {
    /// The app was killed, has crashed, or could not be started, or its configuration is invalid.
    case error
    /// Something else is wrong.
    case warning
    /// What else happens.
    case info
}

/// One message of watchdogd as a JSON object on a line.
struct JSONLogLine {
    /// A pipe takes this much in one piece, pipe(7), so that no line is split by what the program writes.
    static let limit = Int(PIPE_BUF)

    /// The members besides the time, in their order.
    private(set) var members: [(name: String, value: String)]
    private let time: WallTime

    init(
        _ level: LogLevel, _ message: String, app: String?, _ fields: [(name: String, value: String?)] = [],
        at time: WallTime = .now()
    ) {
        self.time = time
        members = [("level", level.rawValue)]
        if let app { members.append(("app", app)) }
        members.append(("message", message))
        members += fields.compactMap { field in field.value.map { (field.name, $0) } }
    }

    /// The line for an entry of the journal: the same facts.
    init(_ entry: JournalEntry, app: String?, at time: WallTime = .now()) {
        let message = entry["MESSAGE"] ?? ""
        // The verdict and the report, which follow in the text, have members of their own.
        let first = entry["WATCHDOGD_VERDICT"] == nil ? message[...] : message.prefix { $0 != "\n" }
        self.init(
            LogLevel(entry), String(first),
            app: entry["WATCHDOGD_APP"] ?? app, Self.members.map { ($0.name, entry[$0.field]) }, at: time)
    }

    private static let members: [(name: String, field: String)] = [
        ("kind", "WATCHDOGD_KIND"), ("pid", "WATCHDOGD_PID"), ("version", "WATCHDOGD_APP_VERSION"),
        ("event", "WATCHDOGD_EVENT"), ("code", "WATCHDOGD_CODE"), ("verdict", "WATCHDOGD_VERDICT"),
        ("fault", "WATCHDOGD_FAULT"), ("signature", "WATCHDOGD_SIGNATURE"), ("incident", "WATCHDOGD_INCIDENT"),
        ("report", "WATCHDOGD_REPORT"),
    ]

    /// The line with its newline, at most ``limit`` bytes; long values are cut.
    var bytes: [UInt8] {
        for room in [2_048, 1_024, 512, 256, 128, 64, 32] {
            let text = Self.object([("time", time.rfc3339)] + members.map { ($0.name, $0.value.bounded(bytes: room)) })
            if text.utf8.count < Self.limit { return Array(text.utf8) + [UInt8(ascii: "\n")] }
        }
        return Array("{\"level\":\"error\",\"message\":\"a message with too many members\"}\n".utf8)
    }

    private static func object(_ members: [(name: String, value: String)]) -> String {
        let pairs = members.map { name, value in
            "\(name.jsonString):" + (name == "pid" && Int32(value) != nil ? value : value.jsonString)
        }
        return "{" + pairs.joined(separator: ",") + "}"
    }
}

extension LogLevel {
    /// The level of an entry for the journal, whose priority is that of syslog(3).
    package init(_ entry: JournalEntry) {
        let priority = entry["PRIORITY"].flatMap { Int($0) } ?? 4
        self = priority <= 3 ? .error : priority == 4 ? .warning : .info
    }
}

extension WallTime {
    /// `2026-11-21T00:20:22.123Z`: RFC 3339, in UTC.
    var rfc3339: String {
        let text = WallTime(seconds: seconds, nanoseconds: nanoseconds, utcOffset: 0).text(fractionDigits: 3)
        return text.prefix(10) + "T" + text.dropFirst(11).prefix(12) + "Z"
    }
}
