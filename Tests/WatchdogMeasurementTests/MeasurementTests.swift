// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase

@testable import WatchdogMeasurement

@Suite("A measurement")
struct MeasurementTests {
    static let conditions = MeasurementConditions(
        kernel: "6.1", system: "Debian", cpuModel: "x", cpus: 2, watchdogd: "0.1", environment: ["LANG": "C"])

    static func measurement(
        _ walls: [Int], until: LaunchGoal = .exit, isCold: Bool = false, faults: Int64 = 1000, read: Int64 = 0
    ) -> Measurement {
        var conditions = conditions
        conditions.isCold = isCold
        let runs = walls.enumerated().map { index, wall in
            MeasuredRun(
                number: index + 1, wall: .milliseconds(wall), cpu: .milliseconds(wall / 2), minorFaults: faults,
                readBytes: read)
        }
        return Measurement(command: ["true"], until: until, runs: runs, conditions: conditions)
    }

    @Test("Summaries match numpy's median and quantile with method inverted_cdf, and scipy's median_abs_deviation")
    func summaries() throws {
        let summary = try #require(SampleSummary([3, 1, 4, 1, 5, 9, 2, 6, 5, 3]))
        #expect(summary.median == 3.5)
        #expect(summary.medianAbsoluteDeviation == 1.5)
        #expect(summary.minimum == 1)
        #expect(summary.ninetiethPercentile == 6)
        #expect(SampleSummary([]) == nil)
        #expect(SampleSummary([7])?.ninetiethPercentile == 7)
    }

    @Test("A run that read from a disk is not warm, and is excluded with its reason")
    func warmth() {
        var run = MeasuredRun(number: 4, wall: .zero, cpu: .zero)
        #expect(run.exclusion(isCold: false) == nil)
        #expect(run.exclusion(isCold: true) == .notCold)
        run.readBytes = 12 << 20
        run.majorFaults = 3
        #expect(run.exclusion(isCold: false)?.description == "not warm: 12.0 MiB read; excluded")
        #expect(run.exclusion(isCold: true) == nil)
        (run.readBytes, run.majorFaults) = (0, 1)
        #expect(run.exclusion(isCold: false)?.description == "not warm: 1 major fault; excluded")
        run.number = 0
        #expect(run.exclusion(isCold: false) == .discarded)
    }

    @Test("A median at --max passes; a nanosecond more fails")
    func maximum() throws {
        func outcome(_ nanoseconds: Double) throws -> MeasurementCheck.Outcome {
            let wall = try #require(SampleSummary([nanoseconds, 1, 2e9]))
            return MeasurementCheck.maximum(.milliseconds(400), wall: wall).outcome
        }
        #expect(try outcome(400_000_000) == .passed)
        #expect(try outcome(400_000_001) == .failed)
    }

    @Test("The exit code comes from the worst check; advice does not count")
    func exitCodes() {
        func code(_ outcomes: MeasurementCheck.Outcome...) -> Int32 {
            MeasurementCheck.exitCode(outcomes.map { MeasurementCheck(name: "", outcome: $0, text: "") })
        }
        #expect(code() == 0)
        #expect(code(.passed, .advice) == 0)
        #expect(code(.passed, .unclear) == 2)
        #expect(code(.unclear, .failed) == 1)
    }

    @Test("A pair counts only if both of its runs do")
    func pairs() {
        var measurement = Self.measurement([10, 20, 30])
        measurement.oldCommand = ["old"]
        measurement.runs += measurement.runs.map { run in
            var old = run
            old.program = .old
            if old.number == 2 { old.readBytes = 4096 }
            return old
        }
        #expect(measurement.pairs.map(\.new.number) == [1, 3])
        #expect(measurement.cpuRatio?.pairs == 2)
        #expect(measurement.figures(of: .old)?.wall.count == 2)
    }

    @Test("Excluded runs are replaced, by at most as many as were requested, unless none counts")
    func missing() {
        func missing(_ counted: Int, of made: Int, wanted: Int) -> Int {
            var measurement = Self.measurement(Array(repeating: 10, count: made))
            for index in counted..<made { measurement.runs[index].readBytes = 1 }
            return measurement.missing(of: wanted)
        }
        #expect(missing(10, of: 10, wanted: 10) == 0)
        #expect(missing(7, of: 10, wanted: 10) == 3)
        #expect(missing(1, of: 10, wanted: 10) == 9)
        #expect(missing(0, of: 10, wanted: 10) == 0)
        #expect(missing(8, of: 19, wanted: 10) == 1)
        #expect(missing(8, of: 20, wanted: 10) == 0)
    }

    @Test("Noise is the others' share of the CPUs, mentioned from a tenth on")
    func noise() {
        let quiet = MachineNoise(
            busy: .seconds(3), own: .milliseconds(1001), stolen: .zero, capacity: .seconds(20))
        #expect(quiet.sentences == [])
        let loud = MachineNoise(busy: .seconds(3), own: .seconds(1), stolen: .seconds(2), capacity: .seconds(20))
        #expect(loud.sentences.count == 2)
        #expect(loud.sentences[0].hasPrefix("other processes used 10 % of the CPUs"))
        #expect(MachineNoise(busy: .zero, own: .seconds(1), stolen: .zero, capacity: .zero).others == 0)
    }

    @Test("A launch ends with exit or READY=1 immediately, and with listening before idle after a grace period")
    func endChoice() {
        var choice = LaunchEndChoice()
        #expect(choice.choice(at: .seconds(50)) == nil)
        #expect(choice.happened(.idle, at: .milliseconds(10)) == nil)
        #expect(choice.choice(at: .milliseconds(1009)) == nil)
        #expect(choice.choice(at: .milliseconds(1010)) == .idle)
        #expect(choice.happened(.listen, at: .milliseconds(500)) == nil)
        #expect(choice.choice(at: .milliseconds(1499)) == nil)
        #expect(choice.choice(at: .milliseconds(1500)) == .listen)
        #expect(choice.happened(.ready, at: .seconds(1)) == .ready)
        #expect(choice.happened(.exit, at: .seconds(1)) == .exit)
        #expect(choice.happened(.firstFrame, at: .seconds(1)) == nil)
    }

    @Test("Words are split like in a shell, without expansion")
    func words() throws {
        #expect(try CommandWords.split("./old") == ["./old"])
        #expect(try CommandWords.split(" a 'b c'\t\"d \\\" $e\" f\\ g '' ") == ["a", "b c", "d \" $e", "f g", ""])
        #expect(try CommandWords.split("") == [])
        #expect(throws: CommandWords.UnterminatedQuote(quote: "'", offset: 2)) { try CommandWords.split("a 'b") }
    }
}

@Suite("A baseline")
struct BaselineTests {
    private func baseline(faults: Int64, until: LaunchGoal = .exit, isCold: Bool = false) throws -> Baseline {
        let measurement = MeasurementTests.measurement(
            [10, 20, 30], until: until, isCold: isCold, faults: faults, read: 1)
        var other = measurement
        if !isCold {
            other.runs = other.runs.map {
                var run = $0; run.readBytes = 0; return run
            }
        }
        return try #require(Baseline(other))
    }

    private func outcomes(_ checks: [MeasurementCheck]) -> [String: MeasurementCheck.Outcome] {
        Dictionary(uniqueKeysWithValues: checks.map { ($0.name, $0.outcome) })
    }

    @Test("2 % more minor faults pass; one more fails")
    func minorFaults() throws {
        let baseline = try baseline(faults: 1000)
        let within = outcomes(baseline.checks(MeasurementTests.measurement([10], faults: 1020)))
        #expect(within["baseline minor faults"] == .passed)
        let beyond = outcomes(baseline.checks(MeasurementTests.measurement([10], faults: 1021)))
        #expect(beyond["baseline minor faults"] == .failed)
        // Fewer than 400 faults vary by more than 2 %.
        let small = try self.baseline(faults: 100)
        #expect(
            outcomes(small.checks(MeasurementTests.measurement([10], faults: 108)))["baseline minor faults"] == .passed)
        #expect(
            outcomes(small.checks(MeasurementTests.measurement([10], faults: 109)))["baseline minor faults"] == .failed)
    }

    @Test("Times are only advice, however different")
    func times() throws {
        let checks = try baseline(faults: 1000).checks(MeasurementTests.measurement([9000]))
        #expect(outcomes(checks)["baseline CPU time"] == .advice)
        #expect(MeasurementCheck.exitCode(checks) == 0)
    }

    @Test("2 % more instructions pass, and more fail; those of another CPU are not compared")
    func instructions() throws {
        func measurement(_ count: Int64, cpu: String = "x") -> Measurement {
            var measurement = MeasurementTests.measurement([10, 20, 30])
            for index in measurement.runs.indices { measurement.runs[index].instructions = count }
            measurement.conditions.cpuModel = cpu
            return measurement
        }
        let baseline = try #require(Baseline(measurement(1_000_000)))
        let name = "baseline instructions"
        #expect(outcomes(baseline.checks(measurement(1_020_000)))[name] == .passed)
        #expect(outcomes(baseline.checks(measurement(1_020_001)))[name] == .failed)
        #expect(outcomes(baseline.checks(measurement(2_000_000, cpu: "y")))[name] == nil)
        // Runs of which some could not be counted have no median.
        var partly = measurement(1_000_000)
        partly.runs[1].instructions = nil
        #expect(outcomes(baseline.checks(partly))[name] == nil)
    }

    @Test("A phase that doubles and grows by 5 ms fails; one that grows by less is named")
    func phases() throws {
        func measurement(_ constructors: Double, cpu: String = "x") -> Measurement {
            var measurement = MeasurementTests.measurement([10])
            var phases = PhaseTimes()
            // The fastest launch of each phase counts.
            phases.add([.init(name: "ownConstructors", cpuNSec: constructors + 1e6), .init(name: "main", cpuNSec: 3e6)])
            phases.add([.init(name: "ownConstructors", cpuNSec: constructors), .init(name: "main", cpuNSec: 4e6)])
            measurement.phases = phases
            measurement.conditions.cpuModel = cpu
            return measurement
        }
        func check(_ constructors: Double, cpu: String = "x") throws -> MeasurementCheck {
            let baseline = try #require(Baseline(measurement(4e6)))
            let read = try Baseline(decoding: try baseline.encoded())
            return try #require(read.checks(measurement(constructors, cpu: cpu)).first { $0.name == "baseline phases" })
        }
        #expect(try check(4e6).outcome == .passed)
        #expect(try check(4.9e6).outcome == .passed)
        #expect(try check(5e6).text == "CPU time grew: own constructors 4.000 ms → 5.000 ms")
        #expect(try check(8.9e6).outcome == .advice)
        #expect(try check(9e6).outcome == .failed)
        #expect(try check(9e6, cpu: "y").outcome == .advice)
    }

    @Test("Phases come from the JSON of a recording, and from nothing else")
    func recording() {
        var times = PhaseTimes()
        let text = """
            {"phases": [{"kind": "request", "begin": 0, "end": 5},
                        {"kind": "main", "begin": 5, "end": 9, "time": {"running": 3, "waiting": 0, "blocked": 1}}]}
            """
        let isRecording = [text, "{\"phases\": []}", "{"].map { times.add(recording: Array($0.utf8)) }
        #expect(isRecording == [true, false, false])
        #expect(times.phases == [.init(name: "main", cpuNSec: 3)])
    }

    @Test("Measurements of different kinds are not compared")
    func kinds() throws {
        let other = try baseline(faults: 1000, until: .ready).checks(MeasurementTests.measurement([10]))
        #expect(other.map(\.outcome) == [.unclear])
        #expect(other[0].text.contains("use --until ready"))
        let cold = try baseline(faults: 1000, isCold: true).checks(MeasurementTests.measurement([10]))
        #expect(cold.map(\.text) == ["the baseline is of cold runs: use --cold"])
    }

    @Test("Different conditions are named")
    func conditions() throws {
        var measurement = MeasurementTests.measurement([10])
        measurement.conditions.kernel = "6.18"
        measurement.conditions.environment["LANG"] = "de"
        let check = try #require(try baseline(faults: 1000).checks(measurement).last)
        #expect(check.outcome == .advice)
        #expect(check.text == "conditions differ from the baseline's: kernel, environment variable LANG")
    }

    @Test("A file survives writing and reading, and anything else is rejected")
    func coding() throws {
        let baseline = try baseline(faults: 1000)
        #expect(try Baseline(decoding: try baseline.encoded()) == baseline)
        var newer = baseline
        newer.format = 2
        let bytes = try newer.encoded()
        #expect(throws: Baseline.Unusable.self) { try Baseline(decoding: bytes) }
        var negative = baseline
        negative.minorFaults = -1
        let wrong = try negative.encoded()
        #expect(throws: Baseline.Unusable.self) { try Baseline(decoding: wrong) }
        var large = baseline
        (large.readBytes, large.cpuNSec) = (1e15, 1e15)
        #expect(try Baseline(decoding: try large.encoded()) == large)
        #expect(large.checks(MeasurementTests.measurement([10]), tolerance: 10).count >= 4)
        large.cpuNSec = 1.1e15
        let larger = try large.encoded()
        #expect(throws: Baseline.Unusable.self) { try Baseline(decoding: larger) }
        for text in ["", "{}", "[1]", "{\"format\": 1"] {
            #expect(throws: Baseline.Unusable.self) { try Baseline(decoding: Array(text.utf8)) }
        }
        let long = [UInt8](repeating: 32, count: Baseline.mostBytes + 1)
        #expect(throws: Baseline.Unusable.self) { try Baseline(decoding: long) }
    }
}
