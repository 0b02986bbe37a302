// SPDX-License-Identifier: Apache-2.0

import Glibc
import SampleSupport
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("The environment of the sample apps")
    struct StorySurroundingsTests {
        @Test(
            "A wrong command line is one line that lists the choices, with exit code 64",
            arguments: [
                (
                    "QuickPick", ["--stage", "7"],
                    "unknown stage '7'; use one of: 1 blocking, 2 split-interface, 3 naive"
                ),
                ("Stocks", ["--stage", "fast"], "unknown stage 'fast'; use one of: 1 blocking, 2 data-queue, 3 back"),
                (
                    "StarSearcher", ["--repair", "logger"],
                    "unknown repair 'logger'; use one of: system-logger, priority"
                ),
                ("StarSearcher", [], "--slow, --fast or --repair is missing"),
                ("Glassboard", ["--cold", "--snapshot"], "--cold or --snapshot is missing, or there are both"),
                ("QuickPick", ["--stage", "1", "--time-scale", "0"], "a time scale is a number from 0.01 to 10"),
                ("QuickPick", ["--stage", "1", "--server", "photos.example.com:80"], "is not an IP address"),
                ("QuickPick", ["--stage", "1", "--quit-when", "never"], "use one of: useful, complete"),
                ("QuickPick", ["--frobnicate"], "unknown argument '--frobnicate'"),
                ("PhotoServer", ["--profile", "5g"], "unknown profile '5g'; use one of perfect, wifi"),
                ("PhotoServer", ["--delay", "/nothing=1s"], "there is no /nothing to delay"),
            ]
        )
        func wrongCommandLine(app: String, arguments: [String], message: String) throws {
            let scratch = try Scratch()
            var environment = testEnvironment()
            environment["XDG_CACHE_HOME"] = scratch.path
            let program = try Program([product(app)] + arguments, environment: environment)
            #expect(try program.end().code == 64)
            let lines = program.text(.errors).split(separator: "\n")
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first?.contains(message) == true, "\(lines)")
            #expect(names(in: scratch.path) == [])
        }

        @Test("An unreadable script of touches is reported with its line")
        func wrongScript() throws {
            let scratch = try Scratch()
            let file = try scratch.write("# comment\n100ms select 1\nsoon back\n", to: "touches")
            let program = try Program([product("Stocks"), "--stage", "1", "--script", file])
            #expect(try program.end().code == 64)
            #expect(program.text(.errors).contains("\(file):3: \"soon\" is not a time span"))
        }

        @Test("An ordinary user can run them", .enabled(if: isRoot, "everything here is run by an ordinary user then"))
        func ordinaryUser() throws {
            let scratch = try Scratch()
            guard chmod(scratch.path, 0o755) == 0 else { return }
            let data = try StoryApp.quickPick.data(in: scratch)
            guard chmod(data, 0o777) == 0 else { return }
            let run = try Supervision(
                ["--user", "nobody", "--time-scale", StoryApp.timeScale, "--expect", "exit:0"],
                [
                    product("QuickPick"), "--stage", "6", "--data", data, "--time-scale", StoryApp.timeScale,
                    "--server", "127.0.0.1:1", "--quit-when", "complete",
                ], scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.output.contains("QuickPick: useful after"))
        }

        @Test("The first run prepares missing files below the home folder")
        func firstRun() throws {
            let scratch = try Scratch()
            var environment = testEnvironment()
            environment["XDG_CACHE_HOME"] = scratch["cache with blanks"]
            environment["SAMPLE_TIME_SCALE"] = "0.01"
            for expected in ["Glassboard: preparing", "Glassboard: first frame"] {
                let program = try Program(
                    [product("Glassboard"), "--cold", "--quit-when", "complete"], environment: environment)
                #expect(try program.end().code == 0)
                #expect(program.text(.output).hasPrefix(expected))
            }
            #expect(
                names(in: scratch["cache with blanks/watchdogd-samples/Glassboard-0.01"]) == ["bundle", "documents"])
        }

        @Test("Frames are readable as text and as pictures")
        func frames() throws {
            let scratch = try Scratch()
            let command = try StoryApp.glassboard.command(
                ["--cold", "--quit-when", "complete", "--frames", scratch["frames with blanks"]], in: scratch)
            #expect(try Program(command).end().code == 0)
            let files = names(in: scratch["frames with blanks"])
            #expect(files.count >= 4)
            #expect(files.count { $0.hasSuffix(".png") } == files.count { $0.hasSuffix(".txt") })
            for file in files where file.hasSuffix(".png") {
                let picture = try PNG.decode(contents(of: scratch["frames with blanks/\(file)"]) ?? [])
                #expect(picture.width == 480)
            }
            let last = files.last { $0.hasSuffix(".txt") } ?? ""
            #expect(scratch.read("frames with blanks/\(last)")?.contains("Person ") == true)
        }

        @Test(
            "On a terminal an app draws itself, reads keys, and restores the terminal",
            .enabled(if: isInstalled("script"), "script of bsdutils is not installed"))
        func terminal() throws {
            let scratch = try Scratch()
            let command = try StoryApp.quickPick.command(["--stage", "6", "--server", "127.0.0.1:1"], in: scratch)
            let line = command.map { "'\($0)'" }.joined(separator: " ")
            let program = try Program(
                [
                    "script", "--quiet", "--return", "--echo", "never", "--command", "\(line); stty -a",
                    "/dev/null",
                ],
                directory: scratch.path, streams: .pipesAndInput)
            try program.line("stage 6, placeholders")
            try program.line("Photo 12")
            program.type("1")
            try program.line("Photo 1, ESC goes back")
            program.type("q")
            #expect(try program.end().code == 0)
            let shown = program.text(.output)
            #expect(shown.hasPrefix("\u{1B}[?1049h"))
            #expect(shown.contains("\u{1B}[?1049l"))
            // script(1) itself turns off the terminal's echo.
            #expect(shown.contains(" icanon ") && !shown.contains("-icanon"), "the terminal reads lines again")
            #expect(try StoryRecord(scratch).number("touches") == 1)
        }
    }
}
