// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogVerdict

/// Puts the methods of Java into the stacks of a Java virtual machine, in the place of the code that the machine generated:
/// call frame information describes none of it, and its frame pointers are unreliable.
struct JavaStacks {
    /// A part of a stack.
    enum Part {
        /// Native code, from the thread's own registers on; without those of the code that the machine generated.
        case innermost
        /// Native code that called the methods before it.
        case callers(Registers)
        /// Calls of methods, innermost first.
        case methods([Frame])

        /// The address at which native code goes on that has called methods.
        var programCounter: UInt64? {
            if case .callers(let registers) = self { registers[X86_64.Register.rip] } else { nil }
        }
    }

    /// A method as shown in a report.
    private struct Method {
        var name: String
        var file: String?
    }

    private let java: SnapshotJava
    private let methods: [Method]

    init?(_ java: SnapshotJava?) {
        guard let java else { return nil }
        self.java = java
        methods = java.methods.map { method in
            let type = Self.text(method.type)
            return Method(
                name: "\(Self.name(ofType: type)).\(Self.text(method.name))",
                file: method.file.isEmpty ? nil : Self.text(method.file))
        }
    }

    /// The report's note about missing methods; nil if there is no problem.
    var note: String? {
        switch java.reading {
        case .complete: return nil
        case .unknownVersion:
            let version = java.version.map { "Java \($0)" } ?? "a Java virtual machine"
            return "the process runs \(version), and only the methods of HotSpot 11 and newer can be shown"
        case .cut: return "some methods of Java are missing: reading them reached a limit"
        }
    }

    /// The parts of a thread's stack, innermost first; nil if the thread has no methods.
    ///
    /// - Parameters:
    ///   - id: The thread.
    ///   - unknown: The index of the image of code in no file.
    func parts(ofThread id: Int32, unknown: Int) -> [Part]? {
        guard let frames = java.stacks[id], !frames.isEmpty else { return nil }
        var parts: [Part] = [.innermost]
        var calls: [Frame] = []
        for frame in frames {
            switch frame {
            case .call(let method, let line, let address):
                guard methods.indices.contains(method) else { continue }
                calls.append(call(methods[method], line: line, address: address, unknown: unknown))
            case .native(let caller):
                parts.append(.methods(calls))
                calls = []
                parts.append(.callers(Registers(caller)))
            }
        }
        return calls.isEmpty ? parts : parts + [.methods(calls)]
    }

    private func call(_ method: Method, line: Int?, address: UInt64, unknown: Int) -> Frame {
        Frame(
            address: address,
            imageIndex: unknown,
            imageOffset: address,
            symbol: method.name,
            symbolLocation: 0,
            sourceFile: method.file,
            sourceLine: method.file == nil ? nil : line,
            language: .java,
            trust: .interpreter
        )
    }

    /// `java.util.ArrayList` for `java/util/ArrayList`, and `Shop$$Lambda` for `Shop$$Lambda$14+0x0000000800c03000`: a number
    /// that differs from run to run is no name.
    private static func name(ofType type: String) -> String {
        let hidden = type.firstRange(of: "$$Lambda")?.upperBound ?? type.firstIndex(of: "+") ?? type.endIndex
        return String(type[..<hidden].map { $0 == "/" ? "." : $0 })
    }

    /// Decodes a text, without characters that are not valid in names.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            text.append(scalar.properties.generalCategory == .control ? "?" : scalar)
        }
        return String(text)
    }
}

extension Registers {
    /// The registers with which native code goes on.
    init(_ caller: SnapshotJava.Caller) {
        self.init(count: X86_64.registerCount)
        self[X86_64.Register.rip] = caller.programCounter
        self[X86_64.Register.rsp] = caller.stackPointer
        self[X86_64.Register.rbp] = caller.framePointer
    }
}
