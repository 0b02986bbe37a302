// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogMeasurement
import WatchdogReport

extension EndToEnd {
    /// `docs/launch-schema.json` and `docs/measurement-schema.json`.
    @Suite("The JSON of record and measure")
    struct RecordSchemaTests {
        private func faults(_ bytes: [UInt8], schema name: String) throws -> [String] {
            let path = TestFiles.folder(of: #filePath) + "/../../docs/\(name)-schema.json"
            let schema = try JSONDecoder().decode(JSONTree.self, from: Data(try #require(TestFiles.read(path))))
            let value = try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
            return SchemaValidator(root: schema, isStrict: true).faults(value)
        }

        private func printed(_ arguments: String...) throws -> [UInt8] {
            let program = try Program([product("watchdogd")] + arguments)
            let status = try program.end()
            // 2: the measurement is too imprecise.
            #expect([0, 2].contains(status.code ?? -1), "\(program.text(.errors))")
            return Array(program.text(.output).utf8)
        }

        @Test("matches the schemas, without unknown keys")
        func commands() throws {
            #expect(try faults(printed("record", "--json", "--", "/bin/true"), schema: "launch") == [])
            if hasAllRights {
                let timed = try printed("record", "--constructors", "--json", "--", "/bin/true")
                #expect(try faults(timed, schema: "launch") == [])
                #expect(String(decoding: timed, as: UTF8.self).contains("\"constructors\""))
            }
            let measured = try printed(
                "measure", "--json", "--runs", "7", "--max", "60s", "--against", "/bin/true", "--", "/bin/true")
            #expect(try faults(measured, schema: "measurement") == [])
        }

        @Test("The JSON of a complete measurement matches the schema")
        func measurement() throws {
            var runs: [MeasuredRun] = []
            for number in 0...7 {
                for (program, step) in [(MeasuredProgram.new, 10), (.old, 17)] {
                    runs.append(
                        MeasuredRun(
                            program: program, number: number, wall: .milliseconds(200 + number * step),
                            cpu: .microseconds(9_300 + number * step), minorFaults: 900, majorFaults: 12,
                            readBytes: 8 << 20, residentBytes: 4_096))
                }
            }
            let conditions = MeasurementConditions(
                kernel: "6.1", system: "Debian", cpuModel: "x", cpus: 2, watchdogd: "0.1", isCold: true,
                hasNetwork: false, cpuQuotaPercent: 50, data: "/tmp/data", environment: ["LANG": "C"])
            let noise = MachineNoise(
                busy: .seconds(3), own: .seconds(1), stolen: .milliseconds(1), capacity: .seconds(20))
            let measurement = Measurement(
                command: ["new"], oldCommand: ["old"], until: .firstFrame, isUntilChosen: true,
                resolution: .milliseconds(2), runs: runs, conditions: conditions, noise: noise,
                evictedBytes: 9 << 20)
            let checks = MeasurementCheck.Outcome.allCases.map {
                MeasurementCheck(name: "max", outcome: $0, text: "the median is 24 ms")
            }
            let bytes = try MeasurementJSON(measurement, checks: checks).encoded()
            #expect(try faults(bytes, schema: "measurement") == [])
            let text = String(decoding: bytes, as: UTF8.self)
            for key in ["lower", "resolutionNSec", "noise", "evictedBytes", "residentBytes", "excluded"] {
                #expect(text.contains("\"\(key)\""))
            }
            let wrong = text.replacing("\"outcome\" : \"passed\"", with: "\"outcome\" : \"perhaps\"")
            #expect(try faults(Array(wrong.utf8), schema: "measurement").count == 1)
        }
    }
}
