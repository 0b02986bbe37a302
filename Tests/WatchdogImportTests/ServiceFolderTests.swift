// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of service folders")
struct ServiceFolderTests {
    private func folder(_ files: [String: String]) throws -> ImportResult {
        var paths: [String: String] = [:]
        for (name, text) in files { paths["/srv/web/\(name)"] = text }
        let importer = Importer(MemoryFileSystem(files: paths), specifiers: .system, workingDirectory: "/srv")
        return try importer.importing("/srv/web")
    }

    /// The warning about the script `run`.
    private func warning(_ script: String) throws -> String? {
        let result = try folder(["run": script, "timeout-kill": "1"])
        #expect(result.settings.prefix(2) == ["ExecStart=/srv/web/run", "WorkingDirectory=/srv/web"])
        #expect(result.notes.count <= 1)
        return result.notes.first?.message
    }

    @Test("A folder's files become settings")
    func settings() throws {
        let result = try folder([
            "run": "#!/bin/sh\nexec web\n", "timeout-kill": "2500\n", "timeout-up": "750\n", "type": "longrun\n",
            "down-signal": "SIGTERM\n",
        ])
        #expect(result.settings.contains("Terminate=2.5s"))
        #expect(result.settings.contains("Launch=750ms"))
        #expect(result.lines == [])
        #expect(try folder(["run": "x", "type": "oneshot\n"]).notes.first?.kind == .skipped)
        #expect(throws: ImportError.self) { try folder(["run": "web\n"]) }
        #expect(throws: ImportError.self) { try folder(["run": "#!/bin/sh\r\nexec web\r\n"]) }
        #expect(throws: ImportError.self) { try folder(["finish": "#!/bin/sh\n"]) }
    }

    @Test("An allowance of 0, which means none, does not become the default")
    func endless() throws {
        let result = try folder(["run": "#!/bin/sh\nexec web\n", "timeout-kill": "0", "timeout-up": "0"])
        #expect(result.settings.contains("Launch=1h"))
        #expect(result.settings.contains("Terminate=1min"))
        #expect(result.lines.count { $0.contains("changed: ") } == 2)
    }

    @Test("Every file with a meaning in runit, s6 or s6-rc is converted or named")
    func names() throws {
        let files = [
            "finish", "control/t", "log/run", "check", "notification-fd", "timeout-finish", "max-death-tally",
            "down-signal", "lock-fd", "flag-newpidns", "dependencies.d/x", "producer-for", "consumer-for",
            "flag-essential", "nosetsid", "instance/x", "template/run", "timeout-down",
        ]
        for name in files {
            let result = try folder(["run": "#!/bin/sh\nexec web\n", "timeout-kill": "1", name: "SIGHUP"])
            let first = name.prefix { $0 != "/" }
            #expect(result.notes.map(\.place.file) == ["/srv/web/\(first)"], "\(name)")
        }
        let down = try folder(["run": "#!/bin/sh\nexec web\n", "timeout-kill": "1", "down": ""])
        #expect(down.settings.contains("Enabled=no"))
        // The script reads them itself, in its folder.
        let own = try folder([
            "run": "#!/bin/sh\n. ./conf\nexec chpst -e ./env web\n", "timeout-kill": "1", "conf": "A=1", "env/A": "1",
        ])
        #expect(own.lines == [])
    }

    @Test("A program instead of a script is its own main process")
    func program() throws {
        #expect(try warning("\u{7f}ELF\n\u{1}") == nil)
        for interpreter in ["/usr/bin/python3", "/usr/bin/env perl", "/usr/bin/env -S A=1 node --x"] {
            #expect(try warning("#!\(interpreter)\nrun()\n") == nil, "\(interpreter)")
        }
    }

    @Test(
        "The interpreter decides how the script is read",
        arguments: [
            ("/bin/sh -e", "never calls exec"), ("/usr/bin/env bash", "never calls exec"),
            ("/usr/bin/env -S bash -eu", "never calls exec"), ("/bin/busybox sh", "never calls exec"),
            ("/usr/bin/fish", "cannot tell"), ("/sbin/openrc-run", "cannot tell"),
        ])
    func interpreters(line: String, words: String) throws {
        #expect(try warning("#! \(line)\nweb\n")?.contains(words) == true)
    }

    @Test("A script of execline becomes its last program, unless that is a block or in a loop")
    func execline() throws {
        for (text, isChain) in [
            ("fdmove -c 2 1\ns6-setuidgid www\nweb -f", true), ("foreground { mkdir -p /run/web }\nweb", true),
            ("# }\nifelse { test -e x } { a } web", true), ("foreground { web }", false),
            ("loopwhilex web", false), ("forx i { 1 2 } web", false), ("foreground { forx i { 1 } a } web", true),
        ] {
            let warning = try warning("#!/command/execlineb -P\n\(text)\n")
            #expect((warning == nil) == isChain, "\(text)")
        }
    }

    @Test("The reason states why the shell stays")
    func reasons() throws {
        for (script, words) in [
            ("exec 2>&1\n/usr/sbin/thing -f", "its exec only redirects"), ("web", "never calls exec"),
            ("(exec web)", "is not a command of its own shell"), ("exec web &", "is not a command of its own shell"),
            ("if a; then exec web; else web; fi", "only in some cases"), (". ./rest", "cannot tell"),
            ("if", "cannot tell"), ("echo \"", "cannot tell"),
        ] {
            #expect(try warning("#!/bin/sh\n\(script)\n")?.contains(words) == true, "\(script)")
        }
    }
}
