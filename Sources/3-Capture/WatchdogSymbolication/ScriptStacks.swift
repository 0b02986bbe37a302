// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogVerdict

/// Names the functions of JavaScript on a stack: code that V8 generated has no names, and what it interprets is run by one
/// function of its own.
struct ScriptStacks {
    /// Where V8 runs a function that it has not compiled.
    private static let interpreter = "Builtins_InterpreterEntryTrampoline"

    /// A function as shown in a report.
    private struct Function {
        var name: String
        var file: String?
        var line: Int?
    }

    private let scripts: SnapshotScripts
    private let functions: [Function]

    init?(_ scripts: SnapshotScripts?) {
        guard let scripts else { return nil }
        self.scripts = scripts
        functions = scripts.functions.map { function in
            var file = function.file.name
            if let path = file, path.hasPrefix("file://") { file = String(path.dropFirst("file://".count)) }
            return Function(
                name: function.name.name ?? "<anonymous>", file: file, line: file == nil ? nil : function.line)
        }
    }

    /// The report's note about missing names; nil if there is no problem.
    var note: String? {
        switch scripts.reading {
        case .complete: nil
        case .unknownVersion: "the process runs a version of V8 whose JavaScript functions cannot be shown"
        case .cut: "some JavaScript functions have no names: reading them reached a limit"
        }
    }

    /// The function of JavaScript that runs in a machine frame; nil if that is no such function, or has a name.
    ///
    /// - Parameters:
    ///   - frame: The frame of the stack.
    ///   - shown: What would be shown for it.
    ///   - thread: Its thread.
    ///   - isGenerated: Whether it is in no image.
    func function(
        at frame: Unwinder.Frame, shown: [WatchdogVerdict.Frame], ofThread thread: Int32, isGenerated: Bool
    ) -> WatchdogVerdict.Frame? {
        guard let place = shown.last, place.language == nil, isGenerated || place.symbol == Self.interpreter,
            let pointer = frame.framePointer, let index = scripts.frames[thread]?[pointer],
            functions.indices.contains(index)
        else { return nil }
        let function = functions[index]
        return WatchdogVerdict.Frame(
            address: place.address,
            imageIndex: place.imageIndex,
            imageOffset: place.imageOffset,
            symbol: function.name,
            symbolLocation: 0,
            sourceFile: function.file,
            sourceLine: function.line,
            language: .javascript,
            trust: place.trust
        )
    }
}
