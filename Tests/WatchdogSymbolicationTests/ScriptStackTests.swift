// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogVerdict

@testable import WatchdogCapture
@testable import WatchdogSymbolication

@Suite("The functions of JavaScript on a stack")
struct ScriptStackTests {
    private static func text(_ text: String) -> SnapshotText { .init(width: 1, bytes: ArraySlice(text.utf8)) }

    private static func stacks(
        _ name: String = "load", _ file: String = "/srv/app.js", line: Int? = 7
    ) -> ScriptStacks? {
        let function = SnapshotScripts.Function(name: text(name), file: text(file), line: line)
        let frames: [Int32: [UInt64: Int]] = [5: [0x700: 0, 0x800: 9]]
        return ScriptStacks(SnapshotScripts(reading: .complete, functions: [function], frames: frames))
    }

    /// What is shown for a machine frame with this frame pointer.
    private static func shown(
        _ stacks: ScriptStacks?, pointer: UInt64? = 0x700, symbol: String? = nil, thread: Int32 = 5,
        isGenerated: Bool = true, language: Frame.Language? = nil
    ) -> Frame? {
        let machine = Unwinder.Frame(
            programCounter: 0x42, isReturnAddress: true, trust: .framePointer, framePointer: pointer)
        let place = Frame(
            address: 0x42, imageIndex: 3, imageOffset: 0x42, symbol: symbol, symbolLocation: symbol.map { _ in 1 },
            language: language, trust: .framePointer)
        return stacks?.function(at: machine, shown: [place], ofThread: thread, isGenerated: isGenerated)
    }

    @Test("are named where unwinding comes to their frames, in generated code and in the interpreter")
    func named() throws {
        for (symbol, isGenerated) in [(nil, true), ("Builtins_InterpreterEntryTrampoline", false)] {
            let frame = try #require(Self.shown(Self.stacks(), symbol: symbol, isGenerated: isGenerated))
            #expect(frame.symbol == "load" && frame.sourceFile == "/srv/app.js" && frame.sourceLine == 7)
            #expect(frame.language == .javascript && frame.trust == .framePointer)
            #expect(frame.address == 0x42 && frame.imageIndex == 3 && frame.symbolLocation == 0)
        }
    }

    @Test("are not where a frame is another function's, is left over, or has a name")
    func others() {
        #expect(Self.shown(Self.stacks(), pointer: 0x708) == nil)
        #expect(Self.shown(Self.stacks(), pointer: nil) == nil)
        #expect(Self.shown(Self.stacks(), pointer: 0x800) == nil, "an index of no function")
        #expect(Self.shown(Self.stacks(), thread: 6) == nil)
        #expect(Self.shown(Self.stacks(), symbol: "node::fs::Read", isGenerated: false) == nil)
        #expect(Self.shown(Self.stacks(), symbol: "load", language: .javascript) == nil)
    }

    @Test("have a name, a path and a line, or none")
    func parts() {
        #expect(Self.shown(Self.stacks(""))?.symbol == "<anonymous>")
        #expect(Self.shown(Self.stacks("a\u{1b}b"))?.symbol == "a?b")
        #expect(Self.shown(Self.stacks("f", "file:///srv/a.mjs"))?.sourceFile == "/srv/a.mjs")
        #expect(Self.shown(Self.stacks("f", "node:fs", line: nil))?.sourceLine == nil)
        let without = Self.shown(Self.stacks("f", ""))
        #expect(without?.sourceFile == nil && without?.sourceLine == nil)
    }

    @Test("are missed in a note")
    func notes() {
        func note(_ reading: SnapshotScripts.Reading) -> String? {
            ScriptStacks(SnapshotScripts(reading: reading))?.note
        }
        #expect(note(.complete) == nil)
        #expect(note(.unknownVersion)?.contains("a version of V8") == true)
        #expect(note(.cut)?.contains("reached a limit") == true)
    }
}
