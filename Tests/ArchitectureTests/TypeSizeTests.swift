// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Sizes of types")
struct TypeSizeTests {
    @Test(
        "No type of the policy and the shell is longer than 400 lines over all its extensions",
        arguments: ["WatchdogPolicy", "WatchdogLaunch", "WatchdogDaemon", "WatchdogRun"])
    func typesAreSmall(module: String) {
        let files = SourceTree.files(of: module).filter(\.isSwift)
        let sizes = TypeSizes(of: files.map { $0.lines.joined(separator: "\n") }).lines
        #expect(sizes.count > 30)
        #expect(sizes.filter { $0.value > 400 } == [:])
    }

    @Test("All extensions of a type count, in every file, and nested types count for the outer one")
    func extensionsCount() {
        let first = "struct A {\n    struct B {\n        let c = 1\n    }\n}\n\nextension A: Equatable {\n}\n"
        let second = "@MainActor\npublic final class D<T> where T: Any\n{\n}\nprivate extension A.B { }\nlet e = 1\n"
        #expect(TypeSizes(of: [first, second]).lines == ["A": 8, "D": 3])
    }

    @Test(
        "Braces in strings, characters of regular expressions and comments do not count",
        arguments: [
            "let a = \"}\"", "let a = \"\\\"}\"", "let a = \"\"\"\n}\n\"\"\"", "// }", "/* } /* } */ } */",
            "let a = #\"\"}\"#", "let a = \"\\(b(\"}\") + \"{\")\"", "let a = #/[}]/#", "let a = ##\"\\#(\"}\")\"##",
        ])
    func bracesThatAreNone(body: String) {
        let lines = body.split(separator: "\n", omittingEmptySubsequences: false).count
        #expect(TypeSizes(of: ["enum A {\n\(body)\n}\nenum B {}\n"]).lines == ["A": lines + 2, "B": 1])
    }
}
