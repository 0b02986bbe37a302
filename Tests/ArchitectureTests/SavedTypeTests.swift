// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Saved types")
struct SavedTypeTests {
    /// The types of the files of a launch and of an app, and what the latter holds as a text.
    private static let roots = [
        "WatchdogLaunch.LaunchState", "WatchdogLaunch.KeptApp", "WatchdogPolicy.SavedApp.AfterEnd",
    ]

    private static let saved = SavedTypes(
        from: roots,
        in: SourceTree.swiftSources.compactMap { file in
            guard let module = file.place?.split(separator: "/").first,
                file.lines.contains(where: { $0.contains("Codable") })
            else { return nil }
            return (module: String(module), text: file.lines.joined(separator: "\n"))
        })

    @Test("Every type that reaches a file of the next watchdogd names its fields and cases beside them")
    func pinned() {
        #expect(Self.saved.names.count > 60)
        #expect(Self.saved.problems == [])
    }

    @Test("Every field and case of theirs is in a sample whose names are compared with those of released files")
    func sampled() throws {
        let list = try #require(SourceTree.file("Tests/WatchdogSupervisorTests/Fixtures/names.txt"))
        var sampled: [String: Set<String>] = [:]
        for line in list.lines where !line.isEmpty {
            let parts = line.split(separator: ": ", maxSplits: 1)
            sampled[String(parts[0])] = Set(String(parts[1]).split(separator: ", ").map(String.init))
        }
        #expect(Set(sampled.keys).symmetricDifference(Self.saved.names.keys).sorted() == [])
        for (type, names) in Self.saved.names { #expect(sampled[type] == names, "\(type)") }
    }

    private static func problems(in text: String) -> [String] {
        SavedTypes(from: ["M.A"], in: [("M", text + "\n")]).problems
    }

    @Test(
        "A type whose names follow those of its code is found",
        arguments: [
            ("struct A: Codable {\n    var b: Int\n}", ["M.A has no CodingKeys"]),
            ("enum A: Codable {\n    case b\n}", ["M.A has no CodingKeys"]),
            ("enum A: String, Codable {\n    case b\n    case c = \"c\"\n}", ["M.A.b has no explicit raw value"]),
            (
                "enum A: Codable {\n    case b(c: Int)\n    private enum CodingKeys: String, CodingKey { case b }\n}",
                ["M.A.b has no BCodingKeys"]
            ),
            (
                """
                struct A: Codable {
                    var b: [B?]
                    enum CodingKeys: String, CodingKey { case b }
                }
                struct B: Codable {
                    let c: Int
                }
                """, ["M.B has no CodingKeys"]
            ),
            (
                """
                struct A: Codable {
                    @Shared private(set) var b = B.C()
                    enum CodingKeys: String, CodingKey {
                        case b
                    }
                }
                extension B {
                    struct C: Codable {
                        let d: Int
                    }
                }
                """, ["M.B.C has no CodingKeys"]
            ),
            (
                """
                enum A: Codable {
                    case b(C, d: Int)
                    enum CodingKeys: String, CodingKey { case b }
                    enum BCodingKeys: String, CodingKey { case _0, d }
                    struct C: Codable {
                        let e: Int
                    }
                }
                """, ["M.A.C has no CodingKeys"]
            ),
            (
                """
                struct A: Codable {
                    init(from decoder: any Decoder) throws {
                        let values = try decoder.container(keyedBy: CodingKeys.self)
                        b = try values.decode(B.self, forKey: .b)
                    }
                    func encode(to encoder: any Encoder) throws {}
                }
                enum B: Codable {
                    case c
                }
                """, ["M.B has no CodingKeys"]
            ),
            (
                "struct A: Codable {\n    var b: B\n    enum CodingKeys: String, CodingKey { case b }\n}",
                ["M.A has a B, which is not declared"]
            ),
        ])
    func unpinned(text: String, problems: [String]) {
        #expect(Self.problems(in: text) == problems)
    }

    @Test("The names are those of the keys, and what has no key is not saved")
    func names() {
        let text = """
            public struct A: Hashable, Codable {
                public var b: Int?
                var c: B
                var unsaved: Unknown
                var computed: Unknown { c }
                static let constant = Unknown()
                private enum CodingKeys: String, CodingKey {
                    case b,
                        c = "see"
                }
            }
            indirect enum B: Codable {
                case d(Int, e: String), f
                private enum CodingKeys: String, CodingKey { case d = "dee", f }
                private enum DCodingKeys: String, CodingKey { case _0, e }
            }

            """
        let saved = SavedTypes(from: ["M.A"], in: [("M", text)])
        #expect(saved.problems == [])
        #expect(saved.names == ["M.A": ["b", "see"], "M.B": ["dee", "dee._0", "dee.e", "f"]])
    }
}
