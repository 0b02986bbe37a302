// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogVerdict

@testable import WatchdogCapture
@testable import WatchdogSymbolication

@Suite("The methods of Java on a stack")
struct JavaStackTests {
    private static func method(_ type: String, _ name: String, _ file: String = "") -> SnapshotJava.Method {
        .init(type: ArraySlice(type.utf8), name: ArraySlice(name.utf8), file: ArraySlice(file.utf8))
    }

    private static func stacks(_ frames: [SnapshotJava.Frame], _ methods: [SnapshotJava.Method]) -> JavaStacks? {
        JavaStacks(SnapshotJava(version: 17, reading: .complete, methods: methods, stacks: [7: frames]))
    }

    @Test("lie between the native code that they call and that which calls them")
    func parts() throws {
        let frames: [SnapshotJava.Frame] = [
            .call(method: 0, line: 9, address: 0x10), .call(method: 1, line: 5, address: 0x20),
            .native(.init(programCounter: 0x30, stackPointer: 0x40, framePointer: 0x50)),
            .call(method: 0, line: nil, address: 0x60),
        ]
        let methods = [Self.method("shop/Cart", "add", "Cart.java"), Self.method("java/lang/Thread", "run")]
        let parts = try #require(Self.stacks(frames, methods)?.parts(ofThread: 7, unknown: 3))
        try #require(parts.count == 4)
        guard case .innermost = parts[0], case .methods(let inner) = parts[1], case .callers(let native) = parts[2],
            case .methods(let outer) = parts[3]
        else {
            Issue.record("\(parts)")
            return
        }
        #expect(inner.map(\.symbol) == ["shop.Cart.add", "java.lang.Thread.run"])
        #expect(inner.map(\.sourceFile) == ["Cart.java", nil])
        #expect(inner.map(\.sourceLine) == [9, nil], "a line without a file is none")
        #expect(inner.map(\.address) == [0x10, 0x20])
        #expect(inner.allSatisfy { $0.language == .java && $0.trust == .interpreter && $0.imageIndex == 3 })
        #expect(outer.map(\.sourceLine) == [nil])
        #expect(native[X86_64.Register.rip] == 0x30)
        #expect(native[X86_64.Register.rsp] == 0x40)
        #expect(native[X86_64.Register.rbp] == 0x50)
        #expect(parts[2].programCounter == 0x30)
        #expect(Self.stacks(frames, methods)?.parts(ofThread: 8, unknown: 3) == nil)
    }

    @Test(
        "have names that are the same in every run, and are safe to show",
        arguments: [
            ("shop/Cart$Item", "shop.Cart$Item.add"),
            ("shop/Shop$$Lambda$14+0x0000000800c03000", "shop.Shop$$Lambda.add"),
            ("shop/Shop$$Lambda$14/0x0000000800c03000", "shop.Shop$$Lambda.add"),
            ("java/lang/invoke/LambdaForm$MH+0x00007f", "java.lang.invoke.LambdaForm$MH.add"),
            ("shop/Ev\u{1b}il", "shop.Ev?il.add"),
        ])
    func names(type: String, shown: String) throws {
        let found = Self.stacks([.call(method: 0, line: 1, address: 1)], [Self.method(type, "add")])
        guard case .methods(let calls) = try #require(found?.parts(ofThread: 7, unknown: 0)?.last) else {
            Issue.record("no methods")
            return
        }
        #expect(calls.map(\.symbol) == [shown])
    }

    @Test("are left out if a snapshot does not have them")
    func unknown() {
        #expect(Self.stacks([.call(method: 5, line: 1, address: 1)], [])?.parts(ofThread: 7, unknown: 0)?.count == 1)
    }

    @Test("are missed in a note")
    func notes() {
        func note(_ reading: SnapshotJava.Reading, _ version: Int?) -> String? {
            JavaStacks(SnapshotJava(version: version, reading: reading))?.note
        }
        #expect(note(.complete, 17) == nil)
        #expect(
            note(.unknownVersion, 8)
                == "the process runs Java 8, and only the methods of HotSpot 11 and newer can be shown")
        #expect(note(.unknownVersion, nil)?.hasPrefix("the process runs a Java virtual machine") == true)
        #expect(note(.cut, 17) == "some methods of Java are missing: reading them reached a limit")
    }
}
