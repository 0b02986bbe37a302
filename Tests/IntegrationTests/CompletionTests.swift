// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    /// The shells' use of `watchdogd --generate-completion-script`.
    @Suite("Completions")
    struct CompletionTests {
        private let scratch: Scratch

        init() throws {
            scratch = try Scratch()
            let scripts = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/scripts"
            let program = try Program(["\(scripts)/completions", product("watchdogd"), scratch.path])
            try #require(program.end() == .exited(code: 0))
            var folder = ""
            for name in ["configuration", "/watchdogd", "/apps.d"] {
                folder += name
                _ = try scratch.makeDirectory(folder)
            }
            for name in ["web", "redis", "template@"] {
                try scratch.write("[App]\nExecStart=/bin/true\n", to: "\(folder)/\(name).app")
            }
        }

        @Test("The command prints the same as the option, and names the supported shells")
        func command() throws {
            for shell in ["bash", "zsh", "fish"] {
                let command = try Program([product("watchdogd"), "completions", shell])
                let option = try Program([product("watchdogd"), "--generate-completion-script", shell])
                #expect(try command.end().code == 0)
                #expect(try option.end().code == 0)
                #expect(command.text(.output) == option.text(.output))
                #expect(command.text(.output).contains("observe"))
            }
            let unknown = try Program([product("watchdogd"), "completions", "tcsh"])
            #expect(try unknown.end().code == 64)
            #expect(unknown.text(.errors).contains("use bash, zsh or fish"), "\(unknown.text(.errors))")
        }

        /// Runs a shell with the built watchdogd, in which this user's apps are `web` and `redis`.
        private func lines(_ shell: [String], _ source: String) throws -> [String] {
            var environment = testEnvironment()
            environment["XDG_CONFIG_HOME"] = scratch["configuration"]
            environment["XDG_RUNTIME_DIR"] = scratch.path
            environment["PATH"] = "\(product("")):\(searchPath)"
            let program = try Program(shell + ["-c", source], environment: environment, directory: scratch.path)
            let status = try program.end()
            #expect(status == .exited(code: 0))
            #expect(program.text(.errors) == "")
            return program.text(.output).split(separator: "\n").map(String.init)
        }

        /// bash's completions for the last word of a command line.
        private func bash(_ words: String...) throws -> [String] {
            let quoted = words.map { "'\($0)'" }.joined(separator: " ")
            let line = words.joined(separator: " ")
            return try lines(
                ["bash", "--norc", "--noprofile"],
                """
                source ./watchdogd.bash
                words=(\(quoted))
                COMP_WORDS=("${words[@]}") COMP_CWORD=\(words.count - 1) COMP_LINE='\(line)' COMP_POINT=\(line.utf8.count)
                _watchdogd watchdogd "${words[-1]}" "${words[-2]}"
                printf '%s\n' "${COMPREPLY[@]}"
                """)
        }

        @Test(
            "bash completes commands, options, values and names of apps",
            .enabled(if: isInstalled("bash"), "needs bash"))
        func inBash() throws {
            #expect(try bash("watchdogd", "rep") == ["report"])
            #expect(try bash("watchdogd", "report", "exp").sorted() == ["explain", "export"])
            #expect(try bash("watchdogd", "run", "--time") == ["--time-scale"])
            #expect(try bash("watchdogd", "run", "--enforce", "") == ["kill", "report"])
            #expect(try bash("watchdogd", "report", "list", "--event", "scene-u") == ["scene-update"])
            #expect(try bash("watchdogd", "report", "show", "lat") == ["latest"])
            #expect(try bash("watchdogd", "status", "--user", "") == ["redis", "web"])
            #expect(try bash("watchdogd", "terminate", "--user", "w") == ["web"])
        }

        @Test("fish completes commands and options", .enabled(if: isInstalled("fish"), "needs fish"))
        func inFish() throws {
            let offered = try lines(["fish"], "source ./watchdogd.fish; complete --do-complete 'watchdogd rep'")
            #expect(offered.map { $0.split(separator: "\t").first.map(String.init) } == ["report"])
            let options = try lines(["fish"], "source ./watchdogd.fish; complete --do-complete 'watchdogd run --time'")
            #expect(options.contains { $0.hasPrefix("--time-scale") })
        }

        @Test("zsh loads its script", .enabled(if: isInstalled("zsh"), "needs zsh"))
        func inZsh() throws {
            let words = try lines(
                ["zsh", "-f"],
                """
                fpath=($PWD $fpath)
                autoload -Uz compinit && compinit -D -u
                autoload -Uz +X _watchdogd && print -r -- $_comps[watchdogd]
                """)
            #expect(words == ["_watchdogd"])
        }
    }
}
