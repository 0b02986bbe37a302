// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

extension EndToEnd {
    @Suite("watchdogd import")
    struct ImportCommandTests {
        private let scratch: Scratch

        init() throws {
            scratch = try Scratch()
            try scratch.write(
                "[Service]\nExecStart=/bin/true\nRestart=always\nSlice=x.slice\n[Install]\nWantedBy=multi-user.target\n",
                to: "web.service")
            _ = try scratch.makeDirectory("apps")
        }

        private func run(_ arguments: String...) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd")] + arguments, directory: scratch.path)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        @Test("It prints the app file, lists lost settings with their lines, and writes nothing")
        func shows() throws {
            let answer = try run("import", "web.service")
            #expect(answer.code == 0)
            #expect(answer.output.hasPrefix("# web.app, imported from web.service.\n"))
            #expect(answer.output.contains("\nPolicy=always\n"))
            #expect(answer.errors.contains("\nweb.service:4: dropped: Slice=x.slice has no counterpart: "))
            #expect(answer.errors.hasSuffix("watchdogd: 1 app, 1 changed, 1 dropped\n"))
            #expect(names(in: scratch["apps"]) == [])
        }

        @Test("It follows the links of units and drop-ins")
        func links() throws {
            _ = try scratch.makeDirectory("web.service.d")
            try scratch.write("[Service]\nNice=5\n", to: "web.service.d/1.conf")
            #expect(symlink("/dev/null", scratch["web.service.d/2.conf"]) == 0)
            #expect(symlink("web.service", scratch["alias.service"]) == 0)
            #expect(symlink("/dev/null", scratch["masked.service"]) == 0)
            let answer = try run("import", "alias.service")
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.output.hasPrefix("# web.app, ") && answer.output.contains("\nNice=5\n"))
            #expect(answer.errors.contains("alias.service is another name of web.service"))
            let masked = try run("import", "masked.service")
            #expect(masked.code == 65 && masked.errors.contains("masked.service: error: the unit is masked"))
        }

        @Test("As JSON, it prints apps, notes and errors in one object, and nothing else")
        func json() throws {
            let answer = try run("import", "--json", "web.service", "nowhere.service")
            #expect(answer.code == 66)
            #expect(answer.errors == "")
            let reply = try JSONDecoder().decode(Reply.self, from: Data(answer.output.utf8))
            #expect(reply.apps.map(\.file) == ["web.app"])
            #expect(reply.apps.first?.text.contains("\nPolicy=always\n") == true)
            #expect(reply.notes.contains { $0.kind == "dropped" && $0.line == 4 && $0.file == "web.service" })
            #expect(reply.errors.map(\.file) == ["nowhere.service"])
        }

        private struct Reply: Decodable {
            struct App: Decodable {
                let name, file, text: String
            }

            struct Note: Decodable {
                let kind, file, message: String
                let line: Int?
            }

            let apps: [App]
            let notes: [Note]
            let errors: [Note]
        }

        @Test("Without a terminal, it writes only with --yes, and replaces a file only with --force")
        func writes() throws {
            #expect(try run("import", "--output", "apps", "web.service").code == 64)
            #expect(names(in: scratch["apps"]) == [])
            let missing = try run("import", "--output", "nowhere", "--yes", "web.service")
            #expect(missing.code == 73)
            #expect(missing.errors.contains("there is no folder nowhere; nothing was written"))
            #expect(try run("import", "--output", "apps", "--yes", "web.service").code == 0)
            #expect(names(in: scratch["apps"]) == ["web.app"])
            #expect(try run("check", "apps").code == 0)

            try scratch.write("mine\n", to: "apps/web.app")
            let refused = try run("import", "--output", "apps", "--yes", "web.service")
            #expect(refused.code == 73)
            #expect(refused.errors.contains("apps/web.app: exists already; nothing was written; --force replaces it"))
            #expect(scratch.read("apps/web.app") == "mine\n")
            #expect(try run("import", "--output", "apps", "--yes", "--force", "web.service").code == 0)
            #expect(scratch.read("apps/web.app")?.contains("ExecStart=/bin/true") == true)
        }

        @Test("If a file has an error or cannot be read, nothing is written")
        func errors() throws {
            try scratch.write("[Service]\nExecStart=bin/true\n", to: "bad.service")
            let invalid = try run("import", "--output", "apps", "--yes", "web.service", "bad.service")
            #expect(invalid.code == 65)
            #expect(invalid.errors.hasPrefix("bad.service:2: error: ExecStart: "))
            #expect(try run("import", "--output", "apps", "--yes", "web.service", "missing").code == 66)
            #expect(names(in: scratch["apps"]) == [])
            try scratch.write("[Service]\nType=oneshot\nExecStart=/bin/true\n", to: "once.service")
            #expect(try run("import", "once.service").code == 65)
        }

        @Test("On a terminal, it asks after showing the file", .enabled(if: isInstalled("script"), "needs script"))
        func asks() throws {
            for (answer, isWritten) in [("n", false), ("", false), ("y", true)] {
                let program = try Program(
                    [
                        "script", "--quiet", "--return", "--echo", "never", "--command",
                        "\(shellWord(product("watchdogd"))) import --output apps web.service", "/dev/null",
                    ], directory: scratch.path, streams: .pipesAndInput)
                try program.line("Policy=always")
                program.type("\(answer)\n")
                #expect(try program.end().code == (isWritten ? 0 : 1))
                #expect(program.text(.output).contains("Write 1 file to apps? [y/N] "))
                #expect(names(in: scratch["apps"]) == (isWritten ? ["web.app"] : []))
            }
        }
    }
}
