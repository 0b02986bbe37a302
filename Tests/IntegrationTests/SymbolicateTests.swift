// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    @Suite(
        "watchdogd report symbolicate",
        .enabled(if: isInstalled("cc") && isInstalled("objcopy"), "there is no C compiler"))
    struct SymbolicateTests {
        /// A report of a stripped program, and its separate debug file.
        private struct Stripped {
            let ending: Ending
            let report: String
            let debugFile: String
            let buildID: String

            var scratch: Scratch { ending.scratch }

            init() throws {
                let scratch = try Scratch()
                let program = scratch["stripped"]
                try Self.run(["cc", "-O1", "-g", "-pthread", "-o", program, "\(subjects)/stripped.c"])
                debugFile = "\(try scratch.makeDirectory("kept"))/stripped.debug"
                try Self.run(["objcopy", "--only-keep-debug", program, debugFile])
                try Self.run(["objcopy", "--strip-all", program])
                ending = try Supervision(
                    ["--readiness", "notify", "--launch", "1s"], [program], scratch: scratch
                ).end()
                report = try #require(ending.reportPaths.first)
                let body = try #require(ending.reports.first).body
                let index = try #require(body.usedImages.firstIndex { $0.name == "stripped" })
                buildID = try #require(body.linux?.buildIDs[index])
                #expect(!Self.functions(body).contains("block_for_ever"))
            }

            static func run(_ command: [String]) throws {
                let program = try Program(command)
                try #require(try program.end().code == 0, "\(command): \(program.text(.errors))")
            }

            static func functions(_ body: ReportBody) -> [String] {
                body.threads.flatMap(\.frames).compactMap(\.symbol)
            }

            func symbolicate(
                _ arguments: [String], environment: [String: String] = [:]
            ) throws -> (code: Int32?, output: String, errors: String) {
                var variables = testEnvironment()
                variables["DEBUGINFOD_URLS"] = nil
                variables["HOME"] = scratch.path
                variables["XDG_CACHE_HOME"] = scratch["cache"]
                for (name, value) in environment { variables[name] = value }
                let program = try Program(
                    [product("watchdogd"), "report", "symbolicate", report] + arguments, environment: variables)
                let code = try program.end().code
                return (code, program.text(.output), program.text(.errors))
            }

            /// Stores the debug file under its build-id.
            func store(_ file: String, below folder: String, as buildID: String) throws {
                let directory = "\(folder)/.build-id/\(buildID.prefix(2))"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                try FileManager.default.copyItem(
                    atPath: file, toPath: "\(directory)/\(buildID.dropFirst(2)).debug")
            }
        }

        @Test(
            "A stripped program's frames get function, file and line, and inlined calls; the cycle of waits gets its names"
        )
        func functions() throws {
            let stripped = try Stripped()
            let answer = try stripped.symbolicate(["--debug-dir", stripped.scratch["kept"]])
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.errors.hasPrefix("watchdogd: 7 frames got names\n"), "\(answer.errors)")
            #expect(answer.errors.contains("stripped: \(stripped.debugFile)"))
            for call in [
                "take + 0 (stripped.c:13) [inlined]", "block_for_ever + ", "(stripped.c:20)", "main + ",
                "(stripped.c:39)",
                "keep_lock + ", "(stripped.c:29)",
            ] {
                #expect(answer.output.contains(call), "\(call) in \(answer.output)")
            }
            #expect(answer.output.components(separatedBy: "block_for_ever + ").count == 5)
            #expect(answer.output.contains("Note: 7 frames got names or lines later"))
            #expect(answer.output.contains("Holder: Thread 1 (stripped): pause"))
        }

        @Test("A folder of build-ids is searched directly, and a file anywhere below is found by its content")
        func places() throws {
            let stripped = try Stripped()
            let folder = try stripped.scratch.makeDirectory("by-id")
            try stripped.store(stripped.debugFile, below: folder, as: stripped.buildID)
            #expect(try stripped.symbolicate(["--debug-dir", folder]).errors.contains("\(folder)/.build-id/"))
            let deep = try stripped.scratch.makeDirectory("deep")
            try FileManager.default.createDirectory(atPath: "\(deep)/a/b/c", withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: stripped.debugFile, toPath: "\(deep)/a/b/c/artifact-17")
            let answer = try stripped.symbolicate(["--debug-dir", folder + "/nothing/..", "--debug-dir", deep])
            #expect(answer.code == 66, "a folder that does not exist is reported")
            #expect(try stripped.symbolicate(["--debug-dir", deep]).errors.contains("\(deep)/a/b/c/artifact-17"))
        }

        @Test("A file of another build, whatever its name, is reported and never used")
        func mismatch() throws {
            let stripped = try Stripped()
            let folder = try stripped.scratch.makeDirectory("wrong")
            let other = "\(folder)/other"
            try Stripped.run(
                [
                    "cc", "-O0", "-g", "-pthread", "-Wl,--build-id=0x0123456789abcdef", "-o", other,
                    "\(subjects)/stripped.c",
                ])
            try FileManager.default.copyItem(atPath: other, toPath: "\(folder)/stripped.debug")
            try stripped.store(other, below: folder, as: stripped.buildID)
            let answer = try stripped.symbolicate(["--debug-dir", folder])
            #expect(answer.code == 66)
            #expect(answer.output == "")
            #expect(answer.errors.contains("is of another build: its build-id is 0123456789abcdef"), "\(answer.errors)")
            #expect(answer.errors.split(separator: "\n").count == 1)
        }

        @Test(
            "In-place output keeps the file's mode and time; --output leaves the file alone; both are readable as reports"
        )
        func inPlace() throws {
            let stripped = try Stripped()
            let before = try #require(contents(of: stripped.report))
            let output = stripped.scratch["named.ips"]
            let kept = ["--debug-dir", stripped.scratch["kept"]]
            #expect(try stripped.symbolicate(kept + ["--output", output]).code == 0)
            #expect(contents(of: stripped.report) == before)
            var old = stat()
            var new = stat()
            chmod(stripped.report, 0o604)
            stat(stripped.report, &old)
            let answer = try stripped.symbolicate(kept + ["--in-place"])
            #expect(answer.code == 0 && answer.output == "")
            stat(stripped.report, &new)
            #expect(new.st_mode == old.st_mode && new.st_uid == old.st_uid)
            #expect(new.st_mtim.tv_sec == old.st_mtim.tv_sec && new.st_mtim.tv_nsec == old.st_mtim.tv_nsec)
            #expect(contents(of: stripped.report) == contents(of: output))
            #expect(names(in: stripped.ending.scratch["reports"]).count == 1, "no temporary file is left")
            let report = try ReportCoding.decode(contents(of: output) ?? [])
            #expect(Stripped.functions(report.body).filter { $0 == "block_for_ever" }.count == 4)
            let linux = try #require(report.body.linux)
            for (thread, details) in zip(report.body.threads, linux.threads) {
                #expect(details.trust.count == thread.frames.count)
            }
            // A second time changes nothing.
            #expect(try stripped.symbolicate(kept + ["--in-place"]).errors.hasPrefix("watchdogd: 0 frames got names"))
            #expect(contents(of: stripped.report) == contents(of: output))
        }

        @Test("A debug file server is used only on request, and its file only if the build matches")
        func debuginfod() throws {
            let stripped = try Stripped()
            let root = try stripped.scratch.makeDirectory("server")
            let folder = "\(root)/buildid/\(stripped.buildID)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: stripped.debugFile, toPath: "\(folder)/debuginfo")
            let server = try Program([
                "/usr/bin/python3", "-u", "-c",
                """
                import functools, http.server, sys
                handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
                server = http.server.HTTPServer(("127.0.0.1", 0), handler)
                print(server.server_port)
                server.serve_forever()
                """, root,
            ])
            let servers = ["DEBUGINFOD_URLS": "http://127.0.0.1:\(try server.line())"]
            #expect(try stripped.symbolicate([], environment: servers).code == 66, "not without the flag")
            #expect(!server.text(.errors).contains("GET"))
            let unset = try stripped.symbolicate(["--debuginfod"])
            #expect(unset.code == 64 && unset.errors.contains("DEBUGINFOD_URLS is not set"))
            let answer = try stripped.symbolicate(["--debuginfod"], environment: servers)
            if answer.errors.contains("libdebuginfod.so.1 is not installed") {
                return print("skipped: libdebuginfod.so.1 is not installed")
            }
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.output.contains("block_for_ever + "))
            #expect(names(in: "/tmp").filter { $0.hasPrefix("watchdogd-debuginfod-") } == [])
            // A file from a server is trusted no more than one in a folder.
            try FileManager.default.removeItem(atPath: "\(folder)/debuginfo")
            try FileManager.default.removeItem(atPath: stripped.scratch["cache"], ifThere: true)
            try FileManager.default.copyItem(atPath: product("watchdogd"), toPath: "\(folder)/debuginfo")
            let wrong = try stripped.symbolicate(["--debuginfod"], environment: servers)
            #expect(wrong.code == 66)
            #expect(wrong.errors.contains("of another build"), "\(wrong.errors)")
            try server.send(SIGTERM)
        }

        @Test("Wrong usage and damaged reports are one clear error")
        func errors() throws {
            let stripped = try Stripped()
            let usage = try stripped.symbolicate(["--in-place", "--output", "x"])
            #expect(usage.code == 64)
            let nowhere = try stripped.symbolicate(["--debug-dir", "/no/such/folder"])
            #expect(nowhere.code == 66)
            #expect(nowhere.errors == "watchdogd: --debug-dir /no/such/folder: No such file or directory (ENOENT)\n")
            let file = try stripped.symbolicate(["--debug-dir", stripped.debugFile])
            #expect(file.code == 66 && file.errors.contains("not a directory"))
            let whole = try #require(contents(of: stripped.report))
            let cut = try stripped.scratch.write(String(decoding: whole.dropLast(400), as: UTF8.self), to: "cut.ips")
            let program = try Program(
                [
                    product("watchdogd"), "report", "symbolicate", cut, "--in-place", "--debug-dir",
                    stripped.scratch["kept"],
                ])
            #expect(try program.end().code == 65)
            #expect(program.text(.errors).contains("use --output"))
            #expect(contents(of: cut) == Array(whole.dropLast(400)))
        }
    }
}

extension FileManager {
    fileprivate func removeItem(atPath path: String, ifThere: Bool) throws {
        if fileExists(atPath: path) { try removeItem(atPath: path) }
    }
}
