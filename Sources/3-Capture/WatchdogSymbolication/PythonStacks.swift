// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogVerdict

/// Replaces the calls of CPython's evaluator on each stack with the Python functions that they run.
///
/// One call of `_PyEval_EvalFrameDefault` runs a Python function and the Python functions that it calls directly; a
/// function in C between them calls the evaluator again.
struct PythonStacks {
    /// A frame of the machine stack, and the frames to show for it.
    struct Step {
        var frames: [Frame]
        /// Whether it is a call of the evaluator.
        var isEvaluator: Bool
    }

    /// A function as shown in a report.
    private struct Function {
        var name: String?
        var file: String?
        var locations: PythonLocationTable
    }

    private let interpreter: SnapshotInterpreter
    private let functions: [Function]

    init?(_ interpreter: SnapshotInterpreter?) {
        guard let interpreter else { return nil }
        self.interpreter = interpreter
        functions = interpreter.codes.map { code in
            Function(
                name: code.name.name,
                file: code.file.name,
                locations: PythonLocationTable(
                    bytes: code.locations, firstLine: code.firstLine, format: .init(version: interpreter.version))
            )
        }
    }

    /// The report's note about missing Python frames; nil if there is no problem.
    var note: String? {
        let version = interpreter.version
        let name = version == 0 ? "a Python older than 3.9" : "Python \(version >> 24).\(version >> 16 & 0xFF)"
        switch interpreter.reading {
        case .complete: return nil
        case .unknownVersion:
            return "the process runs \(name), and only the functions of Python 3.9 to 3.13 can be shown"
        case .cut: return "some Python functions are missing: reading them reached a limit"
        }
    }

    /// Whether the function at the address is the evaluator.
    func isEvaluator(_ address: UInt64, symbol: String?) -> Bool {
        interpreter.evaluator.contains(address) || symbol?.hasPrefix("_PyEval_EvalFrameDefault") ?? false
    }

    /// The stack of a thread with Python's functions.
    ///
    /// The calls are matched from the outermost one if both lists have theirs: the innermost call of the evaluator may
    /// not have pushed its frame yet. Otherwise, they are matched from the innermost one.
    ///
    /// - Parameters:
    ///   - steps: The machine stack, innermost first.
    ///   - isComplete: Whether it has its outermost frame.
    func frames(ofThread id: Int32, among steps: [Step], isComplete: Bool) -> [Frame] {
        let calls = interpreter.stacks[id] ?? []
        // With -X perf, a trampoline of generated code calls the evaluator for each function. Drop the trampolines: the
        // interpreter's own frames have more detail.
        let steps = calls.isEmpty ? steps : steps.filter { $0.frames.last?.language != .python }
        guard !calls.isEmpty, let innermost = steps.first?.frames.last else { return steps.flatMap(\.frames) }
        let groups = Self.groups(calls)
        let places = steps.indices.filter { steps[$0].isEvaluator }
        let isMatchedFromOutside = isComplete && calls.last?.isEntry == true && places.count > groups.count
        let matched = isMatchedFromOutside ? places.suffix(groups.count) : places.prefix(groups.count)
        let byPlace = Dictionary(uniqueKeysWithValues: zip(matched, groups))
        var result: [Frame] = []
        for (index, step) in steps.enumerated() {
            guard let place = step.frames.last, let group = byPlace[index] else {
                result += step.frames
                continue
            }
            let shown = group.compactMap { frame($0, at: place) }
            result += shown.isEmpty ? step.frames : shown
        }
        let outermost = steps.last?.frames.last ?? innermost
        return result + groups.dropFirst(matched.count).joined().compactMap { frame($0, at: outermost) }
    }

    /// The calls that each call of the evaluator runs.
    private static func groups(_ calls: [SnapshotInterpreter.Frame]) -> [ArraySlice<SnapshotInterpreter.Frame>] {
        var groups: [ArraySlice<SnapshotInterpreter.Frame>] = []
        var start = calls.startIndex
        for index in calls.indices where calls[index].isEntry || index == calls.indices.last {
            groups.append(calls[start...index])
            start = index + 1
        }
        return groups
    }

    private func frame(_ call: SnapshotInterpreter.Frame, at place: Frame) -> Frame? {
        guard let code = call.code, functions.indices.contains(code) else { return nil }
        let function = functions[code]
        guard let name = function.name else { return nil }
        let line = call.instruction.map(function.locations.line) ?? function.locations.firstLine
        return Frame(
            address: place.address,
            imageIndex: place.imageIndex,
            imageOffset: place.imageOffset,
            symbol: name,
            symbolLocation: 0,
            sourceFile: function.file,
            sourceLine: function.file == nil ? nil : line.flatMap { $0 > 0 ? $0 : nil },
            language: .python,
            trust: .interpreter
        )
    }
}
