// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("JSON scanner")
struct JSONScannerTests {
    private func tokens(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return JSONScanner(bytes).map { "\($0.kind) \(String(decoding: bytes[$0.range], as: UTF8.self))" }
    }

    @Test("splits a text at its structure, not inside strings")
    func structure() {
        #expect(
            tokens(#" {"a{\"" : [-1.5e3,null ]}"#) == [
                "opening {", #"string(isWhole: true) "a{\"""#, "colon :", "opening [", "word -1.5e3", "comma ,",
                "word null", "closing ]", "closing }",
            ])
        #expect(tokens("") == [])
        #expect(tokens(" \t\r\n") == [])
    }

    @Test(
        "ends with a text that is cut inside a string, also behind a backslash",
        arguments: [#"""#, #""a"#, #""a\"#, #""a\""#, #""\\\"#])
    func cut(text: String) {
        #expect(JSONScanner(Array(text.utf8)).map(\.range) == [0..<text.utf8.count])
        #expect(tokens(text) == ["string(isWhole: false) \(text)"])
    }
}
