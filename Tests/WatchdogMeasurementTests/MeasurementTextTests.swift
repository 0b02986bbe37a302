// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase

@testable import WatchdogMeasurement

@Suite("The text of a measurement")
struct MeasurementTextTests {
    private var measurement: Measurement {
        var measurement = MeasurementTests.measurement([40, 38, 39, 97, 41])
        measurement.runs[0].number = 0
        for index in 1..<5 { measurement.runs[index].number = index }
        measurement.runs[3].readBytes = 12 << 20
        measurement.noise = MachineNoise(
            busy: .seconds(8), own: .milliseconds(1800), stolen: .zero, capacity: .seconds(20))
        return measurement
    }

    @Test("All runs are listed in order, excluded ones with the reason, and the noise follows")
    func runs() throws {
        let text = MeasurementText(measurement, checks: [], width: 80).text
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "true")
        #expect(lines[1] == "4 runs until it exits, after 1 discarded; warm")
        #expect(lines[3] == "     run       wall        CPU    faults")
        #expect(lines[4] == "       -   40.00 ms   20.00 ms      1000  discarded")
        #expect(lines[5] == "       1   38.00 ms   19.00 ms      1000  ██████████████▉")
        #expect(lines[7] == "       3   97.00 ms   48.00 ms      1000  not warm: 12.0 MiB read; excluded")
        #expect(text.contains("1 of 4 runs were excluded"))
        #expect(text.contains("other processes used 31 % of the CPUs: wall time is unreliable"))
        #expect(text.contains("wall time        39.00 ms   1.000 ms   38.00 ms   41.00 ms"))
        #expect(lines.filter { $0.count > 80 } == [])
    }

    @Test("Lines of figures fit their width", arguments: [60, 80, 200])
    func widths(width: Int) {
        let checks = [
            MeasurementCheck.maximum(.milliseconds(39), wall: measurement.figures(of: .new)!.wall)
        ]
        let lines = MeasurementText(measurement, checks: checks, width: width).text.split(separator: "\n")
        // The reason for an excluded run is never cut.
        #expect(lines.filter { $0.count > width && !$0.hasSuffix("excluded") } == [])
        #expect(lines.last == "ok      max: the median is 39.00 ms, at most 39 ms is allowed" || width == 60)
    }

    @Test("Names with spaces are quoted, and control characters are not printed")
    func names() {
        var measurement = measurement
        measurement.command = ["sh", "-c", "echo a", "\u{1b}[31m"]
        let text = MeasurementText(measurement, checks: [], width: 80).text
        #expect(text.hasPrefix("sh -c 'echo a' "))
        #expect(!text.contains("\u{1b}"))
    }

    @Test("JSON has every run, the reasons and the exit code, and can be read back")
    func json() throws {
        let check = MeasurementCheck(name: "max", outcome: .failed, text: "slow")
        let value = MeasurementJSON(measurement, checks: [check])
        let bytes = try value.encoded()
        #expect(try JSONDecoder().decode(MeasurementJSON.self, from: Data(bytes)) == value)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("\"exitCode\" : 1"))
        #expect(text.contains("\"wallNSec\" : 97000000"))
        #expect(text.contains("not warm: 12.0 MiB read; excluded"))
    }

    @Test("JUnit has a failure, an error, and only text that XML allows")
    func junit() {
        var measurement = measurement
        measurement.command = ["a&b", "<\u{1}>\""]
        let checks = [
            MeasurementCheck(name: "max", outcome: .failed, text: "1 > 0"),
            MeasurementCheck(name: "against", outcome: .unclear, text: "?"),
            MeasurementCheck(name: "note", outcome: .advice, text: "n"),
        ]
        let xml = JUnitText.xml(measurement, checks: checks)
        #expect(xml.contains("tests=\"2\" failures=\"1\" errors=\"1\""))
        #expect(xml.contains("<failure message=\"1 &gt; 0\"/>"))
        #expect(xml.contains("a&amp;b &lt;\u{fffd}&gt;&quot;"))
        #expect(!xml.contains("\u{1}"))
        #expect(JUnitText.xml(measurement, checks: []).contains("name=\"measured\"/>"))
    }

    @Test(
        "Times have four digits, whatever their size",
        arguments: [
            (0, "0 µs"), (941_600, "942 µs"), (999_499, "999 µs"), (999_500, "1.000 ms"), (9_999_499, "9.999 ms"),
            (9_999_500, "10.00 ms"), (38_610_000, "38.61 ms"), (246_000_000, "246.0 ms"), (999_949_999, "999.9 ms"),
            (999_950_000, "1.000 s"), (12_340_000_000, "12.34 s"),
        ])
    func times(nanoseconds: Int64, text: String) {
        #expect(FigureText.time(.nanoseconds(nanoseconds)) == text)
    }
}
