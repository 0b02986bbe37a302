// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Import lines")
struct ImportLineTests {
    @Test(
        "Every form of an import is recognized",
        arguments: [
            "import A", "  import A", "public import A", "internal import A.B", "@testable import A",
            "import struct A.B",
            "@_spi(TestKit) public import A", "@preconcurrency @testable internal import func A.b", "import A // why",
        ]
    )
    func everyFormIsSeen(line: String) {
        #expect(imports(of: line) == ["A"])
    }

    @Test(
        "Nothing else is recognized as an import",
        arguments: ["// import A", "/* import A */", "let important = 1", "importer(A)", "/*\nimport A\n*/"]
    )
    func nothingElseIsTaken(text: String) {
        #expect(imports(of: text) == [])
    }

    private func imports(of text: String) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return ImportLine.all(in: SourceFile(path: "A.swift", lines: lines)).map(\.module)
    }
}
