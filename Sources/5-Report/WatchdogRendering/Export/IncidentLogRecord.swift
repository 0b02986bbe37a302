// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// An incident as a log record of OpenTelemetry: an `ExportLogsServiceRequest` with one record, in OTLP/JSON.
///
/// Field names are those of the protocol in lower camel case, enumerations are numbers, and 64-bit integers are strings.
/// Sources: OTLP specification 1.5 (JSON Protobuf encoding), semantic conventions 1.30 (service, host, process,
/// exception, log).
public struct IncidentLogRecord: Encodable, Equatable, Sendable {
    private struct Value: Encodable, Equatable, Sendable {
        var stringValue: String?
        /// A string: JSON's numbers do not hold 64 bits.
        var intValue: String?
    }

    private struct Attribute: Encodable, Equatable, Sendable {
        let key: String
        let value: Value

        init?(_ key: String, _ text: String?) {
            guard let text, !text.isEmpty else { return nil }
            self.key = key
            value = Value(stringValue: text)
        }

        init?(_ key: String, _ number: Int64?) {
            guard let number else { return nil }
            self.key = key
            value = Value(intValue: "\(number)")
        }
    }

    private struct Resource: Encodable, Equatable, Sendable {
        let attributes: [Attribute]
    }

    private struct Scope: Encodable, Equatable, Sendable {
        var name = "watchdogd"
    }

    private struct Record: Encodable, Equatable, Sendable {
        let timeUnixNano: String
        let severityNumber: Int
        let severityText: String
        let eventName: String
        let body: Value
        let attributes: [Attribute]
    }

    private struct ScopeLogs: Encodable, Equatable, Sendable {
        var scope = Scope()
        let logRecords: [Record]
    }

    private struct ResourceLogs: Encodable, Equatable, Sendable {
        let resource: Resource
        let scopeLogs: [ScopeLogs]
    }

    private let resourceLogs: [ResourceLogs]

    /// Makes a record of an incident's line.
    public init(of line: IncidentLine) {
        let resource = Resource(
            attributes: [
                Attribute("service.name", line.app), Attribute("service.version", line.version),
                Attribute("host.name", line.host), Attribute("process.pid", Int64(line.pid)),
            ].compactMap(\.self))
        let (number, word) = Self.severity(line.event)
        let record = Record(
            timeUnixNano: line.wallTime.map { "\($0.seconds)\(Int64($0.nanoseconds).padded(9))" } ?? "0",
            severityNumber: number, severityText: word, eventName: "watchdogd.incident",
            body: Value(stringValue: line.summary),
            attributes: [
                Attribute("exception.type", line.cause), Attribute("exception.message", line.summary),
                Attribute("exception.stacktrace", line.frames.joined(separator: "\n")),
                Attribute("log.record.uid", line.incident), Attribute("watchdogd.event", line.event),
                Attribute("watchdogd.code", line.code), Attribute("watchdogd.verdict", line.verdict),
                Attribute("watchdogd.fault", line.fault), Attribute("watchdogd.signature", line.signature),
                Attribute("watchdogd.role", line.role), Attribute("watchdogd.duration_usec", line.duration),
                Attribute("watchdogd.repeats", line.repeats.map(Int64.init)),
            ].compactMap(\.self))
        resourceLogs = [ResourceLogs(resource: resource, scopeLogs: [ScopeLogs(logRecords: [record])])]
    }

    /// `SEVERITY_NUMBER_INFO`, `_WARN` or `_ERROR`.
    private static func severity(_ event: String) -> (number: Int, word: String) {
        switch event {
        case ReportKind.capture.rawValue: (9, "INFO")
        case ReportKind.hang.rawValue: (13, "WARN")
        default: (17, "ERROR")
        }
    }

    /// The request on one line, with its newline.
    public var text: String { JSONText.line(self) }
}
