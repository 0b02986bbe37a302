// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Documents")
struct DocumentTests {
    private static let documents: [SourceFile] = {
        let top = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "units/README.md"]
        return (top.compactMap(SourceTree.file) + SourceTree.files(below: "docs")).filter { $0.fileExtension == "md" }
    }()

    @Test("Every link within the project leads to a file")
    func linksLeadSomewhere() {
        var dead: [String] = []
        for document in Self.documents {
            let folder = document.path.split(separator: "/").dropLast()
            for (index, line) in document.lines.enumerated() where line.utf8.contains(UInt8(ascii: "]")) {
                for match in line.matches(of: #/\]\(([^)#\s:]+)(?:#[^)]*)?\)/#) {
                    var path = folder
                    for step in match.output.1.split(separator: "/") {
                        if step == ".." { path = path.dropLast() } else { path.append(step) }
                    }
                    if !SourceTree.exists(path.joined(separator: "/")) {
                        dead.append("\(document.path):\(index + 1): \(match.output.1)")
                    }
                }
            }
        }
        #expect(Self.documents.count > 10)
        #expect(dead == [])
    }

    @Test(
        "docs/command-line.md lists the options of 'watchdogd run'",
        .enabled(
            if: BuiltProduct("watchdogd").exists || BuiltProduct.mustExist,
            "watchdogd is not next to the tests: run 'swift build' first"
        )
    )
    func optionsAreDocumented() throws {
        let page = try #require(SourceTree.file("docs/command-line.md"))
        let table = page.lines.filter { $0.hasPrefix("| `--") }.compactMap { $0.split(separator: "|").first }
        let documented = Set(table.flatMap(options(in:)))
        let help = try BuiltProduct("watchdogd").output(withArguments: "run --help")
        let known = Set(help.filter { $0.drop { $0 == " " }.hasPrefix("-") }.flatMap(options(in:)))
        #expect(documented == known.subtracting(["--help", "--version"]))
    }

    private func options(in text: Substring) -> [String] {
        text.matches(of: #/--[a-z][a-z-]*/#).map { String($0.output) }
    }
}
