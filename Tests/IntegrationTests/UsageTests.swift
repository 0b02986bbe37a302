// SPDX-License-Identifier: Apache-2.0

import Testing

extension EndToEnd {
    @Suite("The command line")
    struct UsageTests {
        /// A mistake and the text that its message must contain: the option, and the remedy.
        struct Mistake: Sendable, CustomTestStringConvertible {
            let arguments: [String]
            let words: [String]
            var testDescription: String { arguments.joined(separator: " ") }

            init(_ arguments: [String], _ words: String...) {
                self.arguments = arguments
                self.words = words
            }
        }

        private static let mistakes = [
            Mistake(["run"], "a command is missing", "-- COMMAND"),
            Mistake(["run", "--"], "a command is missing", "-- COMMAND"),
            Mistake(["run", "--", ""], "the command is empty"),
            Mistake(["serve", "apps"], "put --config before the folder: watchdogd serve --config apps"),
            Mistake(["run", "sleep", "1"], "put -- before the program: watchdogd run -- sleep 1"),
            Mistake(["run", "--quiet", "sleep", "1"], "put -- before the program", "[options] -- COMMAND"),
            Mistake(["run", "--update", "5s", "sleep", "1"], "put -- before the program", "[options] -- COMMAND"),
            Mistake(["run", "--update", "5s"], "a command is missing"),
            Mistake(["run", "--launch", "20", "--", "true"], "--launch", "20s"),
            Mistake(["run", "--launch", "soon", "--", "true"], "--launch", "20s"),
            Mistake(["run", "--update", "0s", "--", "true"], "--update", "at least 1 ms"),
            Mistake(["run", "--update", "-1s", "--", "true"], "--update"),
            Mistake(["run", "--terminate", "5 parsecs", "--", "true"], "--terminate", "parsecs", "use ns, µs, ms, s"),
            Mistake(["run", "--ping", "--", "true"], "--ping"),
            Mistake(["run", "--readiness", "whenever", "--", "true"], "--readiness", "use auto, channel, notify"),
            Mistake(["run", "--readiness", "listen:", "--", "true"], "--readiness", "listen:ADDR"),
            Mistake(["run", "--readiness", "listen:99999", "--", "true"], "--readiness", "99999"),
            Mistake(["run", "--readiness", "probe", "--", "true"], "--readiness probe", "requires --probe"),
            Mistake(["run", "--probe", "ftp://x", "--", "true"], "--probe", "tcp:ADDR, unix:PATH"),
            Mistake(["run", "--probe", "https://x", "--", "true"], "--probe", "exec:curl"),
            Mistake(["run", "--probe", "tcp:web:80", "--", "true"], "--probe", "names are not looked up"),
            Mistake(["run", "--probe", "exec: ", "--", "true"], "--probe", "the command is missing"),
            Mistake(
                ["--user", "check", "x"],
                "--user before the command selects a daemon, but 'check' does not talk to one"),
            Mistake(["--color", "purple", "list"], "--color 'purple' is not a choice; use auto, always or never"),
            Mistake(["--color", "never"], "a command is missing"),
            Mistake(["enable", "web"], "set Enabled=yes or Enabled=no in the app's file", "watchdogd reload"),
            Mistake(["list-units"], "did you mean 'list'?"), Mistake(["stats"], "did you mean 'top'?"),
            Mistake(["version"], "did you mean 'watchdogd --version'?"),
            Mistake(["report", "ls"], "did you mean 'list'?"),
            Mistake(["restart"], "'watchdogd list' shows the apps"),
            Mistake(["run", "-d", "nginx"], "run stays in the foreground; use 'watchdogd serve' instead"),
            Mistake(["--control", "/nowhere", "nosuch"], "there is no command 'watchdogd nosuch'"),
            Mistake(["report", "--reports", "r", "explan"], "did you mean 'explain'?"),
            Mistake(
                ["run", "--on-incident-timeout", "1s", "--", "true"],
                "--on-incident-timeout has no effect without --on-incident"),
            Mistake(
                ["run", "--on-incident", "true", "--on-incident-timeout", "2h", "--", "true"],
                "--on-incident-timeout is out of range; use at most 1 h"),
            Mistake(["run", "--probe-interval", "1s", "--", "true"], "--probe-interval has no effect without --probe"),
            Mistake(["run", "--probe", "tcp:1", "--probe-timeout", "0s", "--", "true"], "--probe-timeout", "1 ms"),
            Mistake(["run", "--probe", "tcp:1", "--probe-threshold", "0", "--", "true"], "threshold 0", "1000"),
            Mistake(["run", "--probe", "tcp:1", "--probe-body", "x", "--", "true"], "--probe-body", "http://ADDR"),
            Mistake(["run", "--probe", "http://localhost", "--probe-body", "", "--", "true"], "leave it out"),
            Mistake(["run", "--probe", "http://localhost", "--probe-status", "20", "--", "true"], "status", "200-299"),
            Mistake(["run", "--enforce", "maybe", "--", "true"], "--enforce", "use kill or report"),
            Mistake(["run", "--expect", "miracle", "--", "true"], "--expect", "use ready, exit:N or a code such as"),
            Mistake(["run", "--expect", "exit:256", "--", "true"], "--expect", "exit:0 to exit:255"),
            Mistake(["run", "--expect", "0x8badf00d:tea", "--", "true"], "--expect", "tea", "scene-update"),
            Mistake(["run", "--time-scale", "0", "--", "true"], "--time-scale", "0.001 to 1000"),
            Mistake(["run", "--time-scale", "x", "--", "true"], "--time-scale"),
            Mistake(["run", "--env", "NOVALUE", "--", "true"], "--env", "NAME=VALUE"),
            Mistake(["run", "--quiet", "--verbose", "--", "true"], "--quiet and --verbose cannot be combined"),
            Mistake(["run", "--name", "", "--", "true"], "--name is empty"),
            Mistake(["run", "--log-format", "xml", "--", "true"], "--log-format", "use text or json"),
            Mistake(["run", "--app-version", "", "--", "true"], "--app-version is empty"),
            Mistake(["run", "--grace-period", "30", "--", "true"], "--grace-period", "30s"),
            Mistake(["run", "--lunch", "1s", "--", "true"], "--lunch", "--launch"),
            Mistake(["import", "--format", "ini", "a"], "'ini' is not one of systemd, supervisord"),
            Mistake(["import", "--yes", "a"], "--yes and --force apply only to --output and --install"),
            Mistake(["import", "--name", "x", "a", "b"], "--name applies to a single file"),
            Mistake(["report", "show", "a", "b"], "b"),
            Mistake(["logs", "-l", "1000", "a"], "--lines 1000", "from 0 to 200, or up to 10000 with --follow"),
            Mistake(["logs", "--since", "yesterday-ish", "a"], "--since yesterday-ish", "use a span (2h)"),
            Mistake(["logs", "-f", "--since", "1h", "-l", "5", "a"], "--since and --lines", "leave one out"),
            Mistake(["logs", "-l", "10001", "--follow", "a"], "--lines 10001", "from 0 to 10000"),
            Mistake(["status", "-l", "201", "a"], "--lines 201", "from 0 to 200"),
            Mistake(["events", "-l", "1025"], "--lines 1025", "from 0 to 1024"),
            Mistake(["serve", "--log-format", "xml"], "--log-format", "use text or json"),
            Mistake(["serve", "--grace-period", "30"], "--grace-period", "30s"),
            Mistake(["serve", "--metrics", "99999"], "--metrics", "1 … 65535", "PORT"),
            Mistake(["serve", "--metrics", "example.org:80"], "--metrics", "names are not looked up"),
            Mistake(["serve", "--metrics", "/run/x"], "--metrics '/run/x' is not a TCP address", "ADDR:PORT"),
            Mistake(["serve", "--metrics", ""], "--metrics", "PORT"),
            Mistake(["run", "--metrics", "99999", "--", "true"], "--metrics", "1 … 65535", "PORT"),
            Mistake(["run", "--metrics", "/run/x", "--", "true"], "--metrics '/run/x' is not a TCP address"),
            Mistake(["serve", "--metrics-file", "/tmp/x"], "--metrics-file '/tmp/x' does not end in .prom"),
            Mistake(["ping", "--daemon", "web"], "--daemon", "leave out 'web'"),
            Mistake(["ping", "--timeout", "1", "web"], "--timeout", "1s"),
            Mistake(["frobnicate"], "there is no command 'watchdogd frobnicate'; 'watchdogd --help' lists them"),
            Mistake(["lst"], "there is no command 'watchdogd lst'; did you mean 'list'?"),
            Mistake(["lst", "--control", "/x"], "there is no command 'watchdogd lst'; did you mean 'list'?"),
            Mistake(["start", "web"], "there is no command 'watchdogd start'; did you mean 'launch'?"),
            Mistake(["stop", "web"], "there is no command 'watchdogd stop'; did you mean 'terminate'?"),
            Mistake(["ps"], "there is no command 'watchdogd ps'; did you mean 'list'?"),
            Mistake(["log", "web"], "there is no command 'watchdogd log'; did you mean 'logs'?"),
            Mistake(["help", "lunch"], "there is no command 'watchdogd lunch'; did you mean 'launch'?"),
            Mistake(["help", "report", "shw"], "there is no command 'watchdogd report shw'; did you mean 'show'?"),
            Mistake(["report", "list", "--event", "scene-updat"], "--event", "did you mean 'scene-update'?"),
            Mistake(["report", "list", "--event", "did not anser"], "--event", "did you mean 'did not answer'?"),
            Mistake(["report", "list", "--event", "hangs"], "--event 'hangs' is not an event; did you mean 'hang'?"),
            Mistake(["report", "shw"], "there is no command 'watchdogd report shw'; did you mean 'show'?"),
        ]

        @Test("A mistake is one line that names the option and the remedy, with exit code 64", arguments: mistakes)
        func mistake(_ mistake: Mistake) throws {
            let program = try Program([product("watchdogd")] + mistake.arguments)
            #expect(try program.end().code == 64)
            #expect(program.text(.output) == "")
            let lines = program.text(.errors).split(separator: "\n")
            #expect(lines.count == 1, "\(lines)")
            for word in mistake.words + ["watchdogd: "] {
                #expect(lines.first?.contains(word) == true, "\(word) is missing in: \(lines)")
            }
        }

        @Test("WATCHDOGD_CONTROL selects the daemon unless an option does", arguments: [false, true])
        func controlVariable(isOverridden: Bool) throws {
            let options = isOverridden ? ["--control", "/nowhere/option"] : []
            let program = try Program(
                ["/usr/bin/env", "WATCHDOGD_CONTROL=/nowhere/variable", product("watchdogd"), "list"] + options)
            #expect(try program.end().code == 69)
            let path = isOverridden ? "/nowhere/option" : "/nowhere/variable"
            #expect(program.text(.errors) == "watchdogd: watchdogd is not running: no socket at \(path)\n")
        }

        @Test(
            "Help and version go to standard output, with exit code 0",
            arguments: [["--help"], ["run", "--help"], ["--version"]])
        func help(arguments: [String]) throws {
            let program = try Program([product("watchdogd")] + arguments)
            #expect(try program.end().code == 0)
            #expect(program.text(.errors) == "")
            let lines = program.text(.output).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.contains { !$0.isEmpty })
            #expect(lines.allSatisfy { $0.count <= 80 }, "lines of at most 80 columns")
        }

        @Test("The manual page and the help have the same options")
        func documentation() throws {
            let program = try Program([product("watchdogd"), "run", "--help"])
            try program.end()
            let root = subjects.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let manual = String(decoding: contents(of: "\(root)/docs/command-line.md") ?? [], as: UTF8.self)
            let documented = Set(manual.split(separator: "\n").filter { $0.hasPrefix("| `--") }.flatMap(options))
            let known = Set(
                program.text(.output).split(separator: "\n").filter { $0.hasPrefix("  --") }.flatMap(options)
            ).subtracting(["--version"])
            #expect(!known.isEmpty)
            #expect(documented.intersection(known) == known, "the help has what the manual has not")
            #expect(documented.subtracting(known) == [], "the manual has what the help has not")
        }

        private func options(in line: Substring) -> [String] {
            let cell = line.hasPrefix("|") ? line.split(separator: "|")[0] : line.prefix(26)
            return cell.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init).filter {
                $0.hasPrefix("--")
            }
        }
    }
}
