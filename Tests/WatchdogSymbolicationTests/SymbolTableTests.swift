// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("Symbol tables", .reapsChildren)
struct SymbolTableTests {
    /// Names must outlive the table.
    private static func name(_ text: String) -> UnsafePointer<CChar> {
        guard let copy = strdup(text) else { fatalError("no memory") }
        return UnsafePointer(copy)
    }

    private func symbol(_ name: String, _ address: UInt64, _ size: UInt64, rank: UInt8 = 0) -> SymbolTable.Symbol {
        .init(address: address, size: size, name: SymbolTableTests.name(name), rank: rank)
    }

    private func name(at address: UInt64, in table: SymbolTable) -> String? {
        table.symbol(containing: address).map { String(cString: $0.name) }
    }

    @Test("the innermost function with a size wins, and ends at its size")
    func sizes() {
        let table = SymbolTable([
            symbol("outer", 0x1000, 0x100), symbol("inner", 0x1010, 0x10), symbol("next", 0x1200, 0x10),
        ])
        #expect(name(at: 0x1000, in: table) == "outer")
        #expect(name(at: 0x1018, in: table) == "inner")
        #expect(name(at: 0x1020, in: table) == "outer")
        #expect(name(at: 0x10ff, in: table) == "outer")
        #expect(name(at: 0x1100, in: table) == nil)
        #expect(name(at: 0xfff, in: table) == nil)
        #expect(name(at: .max, in: table) == nil)
        #expect(name(at: 0, in: SymbolTable([])) == nil)
    }

    @Test("a label without a size reaches up to the next function")
    func labels() {
        let table = SymbolTable([
            symbol("function", 0x1000, 0x10), symbol("label", 0x1020, 0), symbol("last", 0x2000, 8),
        ])
        #expect(name(at: 0x1018, in: table) == nil)
        #expect(name(at: 0x1020, in: table) == "label")
        #expect(name(at: 0x1fff, in: table) == "label")
        #expect(name(at: 0x2008, in: table) == nil)
    }

    @Test("of several names the plainest is shown")
    func aliases() {
        let table = SymbolTable([
            symbol("__libc_read", 0x1000, 0x10, rank: 2), symbol("__read", 0x1000, 0x10),
            symbol("read", 0x1000, 0x10, rank: 1), symbol("_ZN1aC1Ev", 0x2000, 8), symbol("__alias", 0x2000, 8),
        ])
        #expect(name(at: 0x1004, in: table) == "read")
        #expect(name(at: 0x2004, in: table) == "_ZN1aC1Ev")
    }

    @Test("sizes that reach beyond the address space do no harm")
    func hugeSizes() {
        let table = SymbolTable([symbol("huge", .max - 1, .max), symbol("other", 0x10, .max)])
        #expect(name(at: .max, in: table) == "huge")
        #expect(name(at: 0x20, in: table) == "other")
    }
}
