// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("A perf map", .reapsChildren)
struct PerfMapTests {
    private static let everything = [UInt64(0x1000)..<0x10_0000]

    private func map(_ text: String, isEnd: Bool = false, of ranges: [Range<UInt64>] = everything) -> PerfMap {
        PerfMap(Array(text.utf8), isEnd: isEnd, of: ranges)
    }

    @Test("names each address of a function, and no address around it")
    func bounds() {
        let map = map("2000 10 JS:*parse /srv/app.js:3:1\n3000 1 JS:~load /srv/app.js:9:1\n")
        #expect(map.function(at: 0x1FFF) == nil)
        #expect(map.function(at: 0x2000)?.function.name == "parse")
        #expect(map.function(at: 0x200F)?.start == 0x2000)
        #expect(map.function(at: 0x2010) == nil)
        #expect(map.function(at: 0x3000)?.function.name == "load")
        #expect(map.function(at: 0x3001) == nil)
    }

    @Test("resolves an address with the last line that contains it")
    func newest() {
        // A large function, two small ones over its middle, and a later one over the end of the second.
        let map = map("2000 100 old\n2020 10 a\n2040 20 b\n2050 40 newest\n2040 8 c\n")
        func name(_ address: UInt64) -> String? { map.function(at: address)?.function.name }
        #expect(name(0x2000) == "old" && name(0x201F) == "old" && name(0x2020) == "a" && name(0x2030) == "old")
        #expect(name(0x2040) == "c" && name(0x2047) == "c" && name(0x2048) == "b" && name(0x204F) == "b")
        #expect(name(0x2050) == "newest" && name(0x208F) == "newest" && name(0x2090) == "old" && name(0x20FF) == "old")
        #expect(name(0x2100) == nil)
        #expect(map.function(at: 0x2090)?.start == 0x2000)
    }

    @Test("agrees with a search through all lines, whatever the overlaps")
    func overlaps() {
        var generator = SeededGenerator(seed: 17)
        for _ in 0..<200 {
            let lines = (0..<30).map { _ in (UInt64(0x1000 + generator.below(64)), UInt64(generator.below(16))) }
            let text = lines.enumerated().map { index, line in
                "\(String(line.0, radix: 16)) \(String(line.1, radix: 16)) f\(index)\n"
            }
            let map = map(text.joined())
            for address in UInt64(0xFF0)..<0x1060 {
                let expected = lines.lastIndex { ($0.0..<$0.0 + $0.1).contains(address) }
                #expect(map.function(at: address)?.function.name == expected.map { "f\($0)" })
            }
        }
    }

    @Test("skips malformed lines, and those about other memory")
    func malformed() {
        let long = String(repeating: "x", count: PerfMap.lineLimit)
        let map = map(
            """
            2000 10
            2000 10 
            2000 0 empty
            g000 10 digits
            12345678901234567 10 digits
            fffffffffffffff0 20 beyond
            -2000 10 sign
            200000 10 elsewhere
             2000 10 blank

            2000 10 \(long)
            0x2800 0x10 good
            2000 10 without end
            """)
        #expect(map.function(at: 0x2000) == nil)
        #expect(map.function(at: 0x20_0000) == nil)
        #expect(map.function(at: 0xFFFF_FFFF_FFFF_FFF8) == nil)
        #expect(map.function(at: 0x2800)?.function.name == "good")
        #expect(!map.isCut)
    }

    @Test("whose beginning is missing loses only the truncated line")
    func end() {
        let text = "000 10 cut\n2000 10 first\n"
        #expect(map(text, isEnd: true).function(at: 0x2000)?.function.name == "first")
        #expect(map(text, isEnd: true).isCut)
        #expect(map("2000 10 no newline", isEnd: true).function(at: 0x2000) == nil)
    }

    @Test("keeps the newest functions within its limit")
    func limit() {
        let old = "2000 10 old\n"
        let many = String(repeating: "3000 10 new\n", count: 99)
        func map(_ text: String) -> PerfMap { PerfMap(Array(text.utf8), limit: 100, of: Self.everything) }
        #expect(map(old + many).function(at: 0x2000)?.function.name == "old")
        let cut = map(old + many + "4000 10 newest\n")
        #expect(cut.function(at: 0x2000) == nil && cut.isCut)
        #expect(cut.function(at: 0x4000)?.function.name == "newest")
    }

    // MARK: - Names

    private func function(_ name: String, program: String = "") -> GeneratedFunction? {
        GeneratedFunction(Array(name.utf8)[...], program: program)
    }

    private func expect(
        _ name: String, program: String = "", _ shown: String, _ language: Frame.Language?, _ file: String? = nil,
        _ line: Int? = nil, _ location: Testing.SourceLocation = #_sourceLocation
    ) {
        let function = function(name, program: program)
        #expect(function?.name == shown, sourceLocation: location)
        #expect(function?.language == language, sourceLocation: location)
        #expect(function?.file == file && function?.line == line, "\(function as Any)", sourceLocation: location)
    }

    @Test("V8's perf map has JavaScript's functions, files and lines")
    func javascript() {
        expect("JS:~parseFeed /srv/app.js:2:19", "parseFeed", .javascript, "/srv/app.js", 2)
        expect("JS:*parseFeed /srv/my app/feed.js:2:19", "parseFeed", .javascript, "/srv/my app/feed.js", 2)
        expect("JS:^get size node:internal/fs/streams:20:5", "get size", .javascript, "node:internal/fs/streams", 20)
        expect("JS:+'load file:///srv/app.mjs:7:1", "load", .javascript, "/srv/app.mjs", 7)
        expect("LazyCompile:*load /srv/app.js:12", "load", .javascript, "/srv/app.js", 12)
        expect("Eval:~ /srv/app.js:1:1", "<anonymous>", .javascript, "/srv/app.js", 1)
        expect("JS:~load", "load", .javascript)
        expect("JS:~load /srv/app.js:0:0", "load", .javascript, "/srv/app.js", nil)
        expect("Builtin:InterpreterEntryTrampoline", "Builtin:InterpreterEntryTrampoline", nil)
        expect("RegExp:(a+)+b", "RegExp:(a+)+b", nil)
    }

    @Test("other runtimes' perf maps have their names")
    func others() {
        expect("py::Feed.load:/srv/app.py", "Feed.load", .python, "/srv/app.py")
        expect("Lcom/example/Cart;::add", "com.example.Cart.add", .java)
        expect("void com.example.Cart.add(int, java.lang.String)", program: "java", "com.example.Cart.add", .java)
        expect("StubRoutines (1)", program: "java", "StubRoutines (1)", nil)
        expect("instance void [Shop] Shop.Cart::Add(int32)[Tier0]", "Shop.Cart.Add", .dotnet)
        expect("$shop_cart:add/2", "shop_cart:add/2", .erlang)
        expect("TRACE_17::@cart.lua:12", "TRACE_17::@cart.lua:12", .jit)
    }

    @Test("cannot put control characters or endless names into a report")
    func hostileNames() {
        expect("evil\u{1B}[31m\tname", "evil?[31m?name", .jit)
        #expect(function(String(repeating: "é", count: 5000))?.name.utf8.count ?? 0 <= 1024 + 3)
        #expect(function("   ") == nil)
        #expect(GeneratedFunction([0xFF, 0xFE][...], program: "")?.name == "\u{FFFD}\u{FFFD}")
        for text in ["JS:", "JS:~", "JS: ", "JS::", "py::", "L;::", "$:/", "$a:b/", "[]", "::(]", "JS:~ :1:1"] {
            #expect(function(text)?.name.isEmpty == false, "\(text)")
        }
    }
}
