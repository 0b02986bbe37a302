// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase
import WatchdogReport

@testable import WatchdogRendering

@Suite("OpenTelemetry log records", .reapsChildren)
struct IncidentLogRecordTests {
    private struct Request: Decodable {
        struct Attribute: Decodable {
            struct Value: Decodable {
                let stringValue: String?
                let intValue: String?
            }

            let key: String
            let value: Value
        }

        struct Resource: Decodable {
            let attributes: [Attribute]
        }

        struct Record: Decodable {
            let timeUnixNano: String
            let severityNumber: Int
            let body: Attribute.Value
            let attributes: [Attribute]
        }

        struct ScopeLogs: Decodable {
            let logRecords: [Record]
        }

        struct ResourceLogs: Decodable {
            let resource: Resource
            let scopeLogs: [ScopeLogs]
        }

        let resourceLogs: [ResourceLogs]
    }

    @Test("A record has the incident's time, text and attributes, on one line")
    func record() throws {
        let line = IncidentLine(of: Samples.report(), host: "alpha")
        let text = IncidentLogRecord(of: line).text
        #expect(text.hasSuffix("}\n") && text.count(where: { $0 == "\n" }) == 1)
        let logs = try #require(try JSONDecoder().decode(Request.self, from: Data(text.utf8)).resourceLogs.first)
        let resource = Dictionary(uniqueKeysWithValues: logs.resource.attributes.map { ($0.key, $0.value) })
        #expect(resource["service.name"]?.stringValue == "HangMain")
        #expect(resource["host.name"]?.stringValue == "alpha")
        #expect(resource["process.pid"]?.intValue == "\(line.pid)")
        #expect(resource["service.version"]?.stringValue == "a1b2c3d4", "of the build ID, because it has no other")
        let record = try #require(logs.scopeLogs.first?.logRecords.first)
        let time = try #require(line.wallTime)
        #expect(Int64(record.timeUnixNano) == time.seconds * 1_000_000_000 + Int64(time.nanoseconds))
        #expect(record.severityNumber == 17 && record.body.stringValue == line.summary)
        let attributes = Dictionary(uniqueKeysWithValues: record.attributes.map { ($0.key, $0.value) })
        #expect(attributes["log.record.uid"]?.stringValue == line.incident)
        #expect(attributes["exception.type"]?.stringValue == line.cause)
        #expect(attributes["watchdogd.duration_usec"]?.intValue == "10050000")
    }

    private static let program = """
        import sys
        from google.protobuf import json_format
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        for line in open(sys.argv[1], encoding='utf-8'):
            request = json_format.Parse(line, ExportLogsServiceRequest(), ignore_unknown_fields=False)
            record = request.resource_logs[0].scope_logs[0].log_records[0]
            print(record.time_unix_nano, record.severity_number, record.event_name, len(record.attributes) > 5)
        """

    @Test("OpenTelemetry's own messages accept every record, without an unknown field")
    func messages() throws {
        guard try ForeignReaderTests.run(["-c", "import opentelemetry.proto"]).status == 0 else {
            print("skipped: \(ForeignReaderTests.interpreter) has no opentelemetry-proto (scripts/setup installs it)")
            return
        }
        let lines = Causes.all.map { IncidentLine(of: $0.report, host: nil) }
        try TestFiles.withFolder { folder in
            let path = "\(folder)/logs"
            try TestFiles.write(Array(lines.map { IncidentLogRecord(of: $0).text }.joined().utf8), to: path)
            let (status, output) = try ForeignReaderTests.run(["-c", Self.program, path])
            #expect(status == 0, "\(output)")
            let rows = output.split(separator: "\n")
            #expect(rows.count == lines.count)
            for (row, line) in zip(rows, lines) {
                let time = try #require(line.wallTime)
                let nanoseconds = time.seconds * 1_000_000_000 + Int64(time.nanoseconds)
                #expect(row.hasPrefix("\(nanoseconds) ") && row.hasSuffix(" watchdogd.incident True"), "\(row)")
            }
        }
    }
}
