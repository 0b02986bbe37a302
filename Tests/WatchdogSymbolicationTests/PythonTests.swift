// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogVerdict

@testable import WatchdogCapture
@testable import WatchdogSymbolication

@Suite("Python's functions on a stack", .reapsChildren)
struct PythonTests {
    /// `co_linetable` of a generator with a loop, an exception handler and comments, and the line of each code unit
    /// from `co_lines()`; CPython 3.11.2 and 3.13.0.
    static let recorded: [(table: [UInt8], lines: [Int?])] = [
        (
            [
                232, 0, 232, 0, 128, 0, 229, 11, 16, 216, 8, 11, 216, 16, 17, 240, 5, 3, 12, 6, 241, 0, 3, 12, 6, 244,
                0, 3, 12, 6, 128, 68, 240, 8, 6, 5, 20, 216, 20, 24, 208, 8, 36, 208, 8, 36, 136, 68, 160, 4, 152, 42,
                152, 42, 152, 42, 152, 42, 208, 8, 36, 248, 221, 11, 21, 240, 0, 2, 5, 35, 240, 0, 2, 5, 35, 240, 0, 2,
                5, 35, 221, 14, 26, 221, 12, 15, 144, 5, 137, 74, 140, 74, 241, 3, 1, 15, 24, 244, 0, 1, 15, 24, 216,
                29, 34, 240, 3, 1, 9, 35, 248, 248, 248, 248, 240, 3, 2, 5, 35, 248, 248, 248, 240, 3, 0, 9, 37, 245,
                10, 0, 9, 14, 136, 100, 137, 11, 140, 11, 136, 11, 136, 11, 136, 11, 248, 141, 5, 136, 100, 137, 11,
                140, 11, 136, 11, 136, 11, 248, 248, 248,
            ],
            [1, 1, 1] + [3, 3, 3, 3, 3, 3, 4, 5] + Array(repeating: 3, count: 9) + [7]
                + Array(repeating: 8, count: 10) + [nil] + Array(repeating: 9, count: 9)
                + Array(repeating: 10, count: 6) + Array(repeating: 11, count: 14) + [10, 10, 10, 10, 10, 10, 10]
                + [11, 10, nil, nil, nil, nil, 9, nil, nil, nil, 8] + Array(repeating: 13, count: 17) + [nil]
                + Array(repeating: 13, count: 16) + [nil, nil, nil]
        ),
        (
            [
                233, 0, 128, 0, 228, 11, 16, 216, 8, 11, 216, 16, 17, 241, 5, 3, 12, 6, 128, 68, 240, 8, 6, 5, 20, 219,
                20, 24, 136, 68, 156, 42, 146, 68, 244, 10, 0, 9, 14, 136, 100, 141, 11, 248, 244, 9, 0, 12, 22, 243, 0,
                2, 5, 35, 220, 14, 26, 220, 12, 15, 144, 5, 139, 74, 243, 3, 1, 15, 24, 216, 29, 34, 240, 3, 1, 9, 35,
                251, 240, 3, 2, 5, 35, 251, 244, 8, 0, 9, 14, 136, 100, 141, 11, 252,
            ],
            [1, 1, 1] + [3, 3, 3, 3, 3, 4, 5, 3, 3, 3, 7] + Array(repeating: 8, count: 13)
                + Array(repeating: 13, count: 12) + [nil] + Array(repeating: 9, count: 9)
                + Array(repeating: 10, count: 5) + Array(repeating: 11, count: 10) + [10, 10, 10, 10, 11, 10]
                + [nil, nil, nil, nil, 9, nil, nil, nil, nil] + Array(repeating: 13, count: 12)
                + [nil, nil, nil, nil, nil]
        ),
    ]

    @Test("The line of each code unit matches Python's", arguments: recorded.indices)
    func lines(index: Int) {
        let (bytes, lines) = Self.recorded[index]
        let table = PythonLocationTable(bytes: bytes[...], firstLine: 1)
        #expect(lines.indices.map { table.line(ofInstruction: $0) } == lines)
        #expect(table.line(ofInstruction: lines.count) == nil)
    }

    /// The same for another function in the formats of CPython 3.9.18, with the lines of `dis.findlinestarts`, and
    /// 3.10.13.
    static let older: [(format: PythonLocationTable.Format, table: [UInt8], lines: [Int?])] = [
        (
            .changes,
            [0, 2, 2, 1, 2, 255, 8, 2, 2, 1, 4, 1, 2, 255, 8, 2, 12, 2, 8, 3, 6, 2, 2, 254],
            [3, 4, 3, 3, 3, 3, 5, 6, 6, 7, 6, 6, 6, 6] + Array(repeating: 8, count: 6) + [10, 10, 10, 10, 13, 13, 13]
                + [15, 13, 13, 13]
        ),
        (
            .ranges,
            [2, 2, 2, 1, 8, 255, 2, 2, 4, 1, 2, 1, 8, 255, 12, 2, 4, 2, 2, 254, 6, 5, 2, 2, 6, 254],
            [3, 4, 3, 3, 3, 3, 5, 6, 6, 7, 6, 6, 6, 6] + Array(repeating: 8, count: 6) + [10, 10, 8, 13, 13, 13]
                + [15, 13, 13, 13]
        ),
    ]

    @Test("The line of each code unit matches Python's before 3.11 too, in two other formats", arguments: older.indices)
    func olderLines(index: Int) {
        let (format, bytes, lines) = Self.older[index]
        let table = PythonLocationTable(bytes: bytes[...], firstLine: 1, format: format)
        #expect(lines.indices.map { table.line(ofInstruction: $0) } == lines)
        let unnumbered = PythonLocationTable(bytes: [4, 0x80, 2, 1][...], firstLine: 7, format: .ranges)
        #expect((0..<4).map { unnumbered.line(ofInstruction: $0) } == [nil, nil, 8, nil])
        let beyond = PythonLocationTable(bytes: bytes[...], firstLine: .min, format: format)
        #expect(beyond.line(ofInstruction: 3) == nil)
    }

    @Test("A damaged table yields some line or none")
    func damagedTables() {
        var generator = SeededGenerator(seed: 311)
        var found = 0
        let rounds = StormScale.part(of: 2_000)
        for round in 0..<rounds {
            var bytes = Self.recorded[round % 2].table
            for _ in 0...generator.below(4) { bytes[generator.below(bytes.count)] = UInt8(generator.below(256)) }
            if round % 3 == 0 { bytes.removeLast(generator.below(bytes.count)) }
            let first = round % 5 == 0 ? Int.max : round % 7 == 0 ? Int.min : 1
            let table = PythonLocationTable(bytes: bytes[...], firstLine: first)
            let lines = (0..<130).compactMap { table.line(ofInstruction: $0) }
            #expect(lines.allSatisfy { (1...Int(Int32.max)).contains($0) })
            found += lines.count
        }
        #expect(found > 5 * rounds)
        let endless = PythonLocationTable(bytes: ([0xF0] + [UInt8](repeating: 0x7F, count: 65_000))[...], firstLine: 1)
        #expect(endless.line(ofInstruction: 1) == nil)
    }

    // MARK: Merging

    private static func code(_ name: String, line: Int, file: String = "/srv/app.py") -> SnapshotInterpreter.Code {
        .init(
            firstLine: line, name: .init(width: 1, bytes: Array(name.utf8)[...]),
            file: .init(width: 1, bytes: Array(file.utf8)[...]), locations: [0b1_1111_111][...])
    }

    private static func interpreter(_ calls: [(Int?, isEntry: Bool)]) -> SnapshotInterpreter {
        SnapshotInterpreter(
            version: 0x030b_02f0, reading: .complete, evaluator: 0x1000..<0x2000, lockHolder: nil,
            codes: [code("inner", line: 1), code("outer", line: 10), code("<module>", line: 1)],
            stacks: [7: calls.map { .init(code: $0.0, instruction: nil, isEntry: $0.isEntry) }])
    }

    /// A machine stack of evaluators (`E`) and others.
    private static func steps(_ pattern: String) -> [PythonStacks.Step] {
        pattern.enumerated().map { index, letter in
            PythonStacks.Step(
                frames: [
                    Frame(
                        address: UInt64(index), imageIndex: 0, imageOffset: 0, symbol: String(letter),
                        symbolLocation: 0, trust: .cfi)
                ],
                isEvaluator: letter == "E")
        }
    }

    private static func names(
        _ pattern: String, isComplete: Bool = true, _ calls: (Int?, isEntry: Bool)...
    ) throws -> [String] {
        let python = try #require(PythonStacks(interpreter(calls)))
        return python.frames(ofThread: 7, among: steps(pattern), isComplete: isComplete).names
    }

    @Test("appear where the evaluator runs them")
    func merging() throws {
        #expect(
            try Self.names("cEcEm", (0, true), (1, false), (2, true)) == ["c", "inner", "c", "outer", "<module>", "m"])
        let python = try #require(PythonStacks(Self.interpreter([(0, true)])))
        let frames = python.frames(ofThread: 7, among: Self.steps("cEm"), isComplete: true)
        #expect(frames.map(\.language) == [nil, .python, nil])
        #expect(frames[1].address == 1 && frames[1].trust == .interpreter && frames[1].symbolLocation == 0)
        #expect(frames[1].sourceFile == "/srv/app.py" && frames[1].sourceLine == 1)
        #expect(python.frames(ofThread: 8, among: Self.steps("cEm"), isComplete: true).names == ["c", "E", "m"])
    }

    @Test("keep the frame of an evaluator that has not begun")
    func justCalled() throws {
        #expect(try Self.names("EcEm", (1, true)) == ["E", "c", "outer", "m"])
        #expect(try Self.names("EcEm", (nil, true), (1, true)) == ["E", "c", "outer", "m"])
        // The outermost calls are missing: the innermost ones are matched.
        #expect(try Self.names("EcEm", (1, false)) == ["outer", "c", "E", "m"])
    }

    @Test("come at the end if the machine stack is truncated")
    func cutStack() throws {
        #expect(
            try Self.names("cE", isComplete: false, (0, true), (1, true), (2, true))
                == ["c", "inner", "outer", "<module>"])
        #expect(try Self.names("c", isComplete: false, (0, true), (2, true)) == ["c", "inner", "<module>"])
        #expect(try Self.names("", (0, true)) == [])
    }

    @Test("are at worst nameless if an index, a string or an instruction is nonsense")
    func nonsense() throws {
        #expect(try Self.names("cEm", (99, true)) == ["c", "E", "m"])
        var interpreter = Self.interpreter([(0, true)])
        interpreter.codes[0].name = .init(width: 4, bytes: [0xFF, 0xFF, 0xFF, 0xFF, 0x0A, 0, 0, 0, 0x41][...])
        interpreter.codes[0].file = .init(width: 2, bytes: [0x00, 0xD8, 0x1B][...])
        interpreter.stacks[7]?[0].instruction = Int(Int32.max)
        let frame = try #require(
            PythonStacks(interpreter)?.frames(ofThread: 7, among: Self.steps("E"), isComplete: true).first)
        #expect(frame.symbol == "\u{FFFD}?")
        #expect(frame.sourceFile == "\u{FFFD}")
        #expect(frame.sourceLine == nil)
    }

    @Test("a Python version with an unknown layout causes a note")
    func unknownVersion() {
        var interpreter = Self.interpreter([])
        #expect(PythonStacks(interpreter)?.note == nil)
        interpreter.reading = .unknownVersion
        interpreter.version = 0x030f_00f0
        #expect(PythonStacks(interpreter)?.note?.hasPrefix("the process runs Python 3.15, ") == true)
        interpreter.version = 0
        #expect(PythonStacks(interpreter)?.note?.hasPrefix("the process runs a Python older than 3.9, ") == true)
    }
}
