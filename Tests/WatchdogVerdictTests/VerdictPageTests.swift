// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogVerdict

@Suite("The remedy for a verdict")
struct VerdictPageTests {
    @Test("docs/my-app-was-killed.md has a row for every verdict", arguments: Verdict.Kind.allCases)
    func everyVerdictHasARow(_ kind: Verdict.Kind) throws {
        let root = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let file = try #require(fopen("\(root)/docs/my-app-was-killed.md", "r"))
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let text = String(decoding: buffer[..<fread(&buffer, 1, buffer.count, file)], as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "| verdict | cause | what to do |"))
        let rows = lines[(start + 2)...].prefix { $0.hasPrefix("|") }
        let words = rows.flatMap { row in
            row.split(separator: "|")[0].split(separator: ",").map { $0.drop { $0 == " " } }
        }
        #expect(words.contains { $0 == kind.rawValue || $0.hasPrefix("\(kind.rawValue) ") })
    }
}
