// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite(
        "A local user against the paths that root opens",
        .enabled(if: hasAllRights, "only root's daemon has more rights than its apps"))
    struct AttackPathTests {
        /// A folder that the attacker owns, and one that only root may enter.
        private struct Places {
            let scratch: Scratch
            let home: String
            let outside: String

            init() throws {
                scratch = try Scratch()
                chmod(scratch.path, 0o755)
                home = try scratch.makeDirectory("home")
                outside = try scratch.makeDirectory("outside", mode: 0o700)
                try give(home)
            }

            func give(_ path: String) throws {
                let owner = try Program(["chown", "\(attackingUser):\(attackingUser)", path])
                try #require(try owner.end().code == 0, "\(owner.text(.errors))")
            }
        }

        @Test("cannot make root write or read elsewhere by swapping folders, files and links")
        func exchanges() throws {
            let places = try Places()
            let scratch = places.scratch
            let logs = try scratch.makeDirectory("home/logs")
            try places.give(logs)
            try places.give(try scratch.write("SECRET=public\n", to: "home/logs/vars"))
            try places.give(try scratch.write("", to: "home/logs/out"))
            try scratch.write("SECRET=stolen\n", to: "outside/vars", mode: 0o600)
            let app = """
                [App]
                ExecStart=/usr/bin/env
                User=\(attackingUser)
                StandardOutput=append:\(logs)/out
                EnvironmentFile=\(logs)/vars
                [Watchdog]
                Readiness=none
                [Restart]
                Policy=always
                Delay=1ms
                MaxDelay=1ms
                Limit=infinity
                """
            let service = try Service(["app": app], scratch: scratch, isSystem: true)
            let attacker = try startAttacker(scratch, ["exchange", "6", places.home, places.outside])
            #expect(try service.program.lives(for: .seconds(6)))
            #expect(try attacker.end() == .exited(code: 0), "\(attacker.text(.errors))")
            #expect(try service.end() == 0)
            // The folder and the file may have either name now.
            let files = ["logs", "link"].flatMap { folder in ["out", "trap"].map { "home/\(folder)/\($0)" } }
            let written = files.compactMap { scratch.read($0) }.joined()
            #expect(written.split(separator: "\n").count { $0 == "SECRET=public" } >= 5, "\(attacker.text(.output))")
            #expect(!written.contains("stolen"))
            #expect(names(in: places.outside) == ["vars"])
            #expect(scratch.read("outside/vars") == "SECRET=stolen\n")
            #expect(service.program.text(.errors).contains("that others than root can change"))
        }

        /// The attacker's object in place of the daemon's sockets and state.
        enum Bait: String, CaseIterable, CustomTestStringConvertible, Sendable {
            case folder = "a folder of theirs"
            case link = "a link to a folder of root's"
            case shared = "a folder of root's that everybody may write to"

            var testDescription: String { rawValue }
        }

        @Test("cannot move the daemon's sockets and state to where others can reach them", arguments: Bait.allCases)
        func runtimeDirectory(bait: Bait) throws {
            let places = try Places()
            let path = "\(places.home)/runtime"
            switch bait {
            case .folder: try places.give(try places.scratch.makeDirectory("home/runtime"))
            case .link: #expect(symlink(places.outside, path) == 0)
            case .shared:
                _ = try places.scratch.makeDirectory("home/runtime")
                #expect(chmod(path, 0o777) == 0)
            }
            let app = "[App]\nExecStart=/bin/sleep 1000\nUser=\(attackingUser)\n[Watchdog]\nReadiness=none\n"
            let service = try Service(
                ["app": app], environment: ["RUNTIME_DIRECTORY": path], scratch: places.scratch, isSystem: true)
            try service.wait(for: "app") { $0.state == .running }
            #expect(names(in: path) == [])
            #expect(names(in: places.outside) == [])
            #expect(try service.end() == 0)
        }
    }
}
