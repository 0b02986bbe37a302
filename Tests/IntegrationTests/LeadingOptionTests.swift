// SPDX-License-Identifier: Apache-2.0

import Testing

extension EndToEnd {
    @Suite("Options before the command")
    struct LeadingOptionTests {
        private let scratch: Scratch

        init() throws { scratch = try Scratch() }

        private func run(_ arguments: [String]) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd")] + arguments, directory: scratch.path)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        @Test("They have the same effect before and after the command")
        func reports() throws {
            let hang = ["--", product("HangMain"), "--how", "sleep"]
            #expect(try run(["run", "--quiet", "--reports", "r", "--update", "500ms"] + hang).code == 137)
            for (before, after) in [
                (["report", "--reports", "r", "list"], ["report", "list", "--reports", "r"]),
                (["report", "--reports=r", "explain"], ["report", "explain", "--reports=r"]),
                (["report", "--reports", "r", "--app", "HangMain", "group"], ["report", "group", "--reports", "r"]),
                (["report", "--reports", "r"], ["report", "list", "--reports", "r"]),
                (["report", "--reports", "r", "--json", "show"], ["report", "show", "--reports", "r", "--json"]),
                (
                    ["--color", "always", "report", "--reports", "r", "explain"],
                    ["report", "explain", "--reports", "r", "--color", "always"]
                ),
                (["--no-pager", "--color=never", "report", "--reports", "r"], ["report", "--reports", "r"]),
            ] {
                let (left, right) = (try run(before), try run(after))
                #expect(left.code == 0 && !left.output.isEmpty, "\(before): \(left.errors)")
                #expect(left.output == right.output, "\(before)")
            }
            #expect(try run(["--color", "always", "report", "--reports", "r", "list"]).output.contains("\u{1b}["))
            // --journal alone must not take the next word for its value.
            let journal = try run(["report", "--journal", "show", "nosuch"])
            #expect(!journal.errors.contains("nosuch: no such file or folder"), "\(journal.errors)")
        }

        @Test("The daemon may be selected before the command; a command that uses no daemon rejects that")
        func daemon() throws {
            let answer = try run(["--control", "\(scratch.path)/none", "status", "web"])
            #expect(answer.code == 69 && answer.errors.contains("no socket at \(scratch.path)/none"))
            for words in [["status", "web", "--no-pager"], ["events", "-f", "-n", "3"], ["logs", "-n", "3", "web"]] {
                let answer = try run(["--control", "\(scratch.path)/none"] + words)
                #expect(answer.code == 69, "\(words): \(answer.errors)")
            }
            // The program's own options are unchanged.
            #expect(try run(["--color", "never", "run", "--quiet", "--", "/bin/echo", "--user"]).output == "--user\n")
        }
    }
}
