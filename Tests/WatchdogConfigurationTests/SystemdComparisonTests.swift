// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration

/// Whether the real systemd reads the same lines alike.
@Suite("Compared with systemd", .enabled(if: Systemd.isThere, "\(Systemd.reason)"), .reapsChildren)
struct SystemdComparisonTests {
    private func arguments(_ lines: [String]) -> [String]? {
        guard let line = lines.first(where: { $0.hasPrefix("Command Line: ") }) else { return nil }
        return Systemd.words(of: line.dropFirst("Command Line: ".count))
    }

    @Test("The table of words matches systemd")
    func words() throws {
        let answers = try Systemd.read(QuotingTests.words.map { "ExecStart=/bin/web \($0.line)" })
        for (row, answer) in zip(QuotingTests.words, answers) {
            #expect(arguments(answer) == ["/bin/web"] + row.words, "\(row.line)")
        }
    }

    @Test("Random command lines are split into the same words, or rejected by both")
    func randomCommands() throws {
        var generator = SeededGenerator(seed: 0x5d)
        let alphabet = [
            "\"", "'", "\\", " ", "a", "b", ";", "\\\"", "\\'", "\\;", "\\x41", "\\n", "\\101", "\\s", "-", "@", "=",
            "\\u00e9", "#", "%%",
            "ä", "\\q", "\\\n ", "\t", "\\\\", "\\\n# c\n", ":",
        ]
        let lines = (0..<600).map { _ in (0..<generator.below(14)).map { _ in generator.pick(alphabet) }.joined() }
        let answers = try Systemd.read(lines.map { "ExecStart=/bin/web \($0)\n" })
        var counts = (accepted: 0, refused: 0, several: 0)
        for (line, answer) in zip(lines, answers) {
            let app = try app("[App]\nExecStart=/bin/web \(line)\n")
            let theirs = arguments(answer)
            if let ours = app.configuration?.program.command.arguments {
                #expect(ours == theirs, "\(line)")
                counts.accepted += 1
            } else if app.messages.contains(where: { $0.contains("an app has one command") }) {
                counts.several += 1
            } else if app.messages.contains(where: { $0.contains("ends in a backslash") }) {
                // A warning there; nobody means it.
                counts.refused += 1
            } else if app.messages.contains(where: { $0.contains("is never closed") }) {
                #expect(theirs == nil || theirs == ["/bin/web"], "\(line)")
                counts.refused += 1
            }
        }
        #expect(counts.accepted > 200 && counts.refused > 100, "\(counts)")
    }

    @Test("Random environments are equal")
    func randomEnvironments() throws {
        var generator = SeededGenerator(seed: 0xe4)
        let alphabet = ["\"", "'", "\\\"", " ", "A=", "B=", "CC=", "x", "y", "\\x41", "=", "\\t", "ä", "$X", "%%", "#"]
        let lines = (0..<400).map { _ in (0..<(1 + generator.below(10))).map { _ in generator.pick(alphabet) }.joined()
        }
        let answers = try Systemd.read(lines.map { "ExecStart=/bin/web\nEnvironment=\($0)" })
        var accepted = 0
        for (line, answer) in zip(lines, answers) {
            guard let program = try app(in: "App", "Environment=\(line)").configuration?.program else { continue }
            let theirs = answer.filter { $0.hasPrefix("Environment: ") }.map { $0.dropFirst("Environment: ".count) }
            let ours = program.environment.map { "\($0.name)=\($0.value)" }
            // systemd appends repeated variables; the later one wins there too.
            #expect(Set(ours).isSubset(of: theirs.map(String.init)), "\(line)")
            #expect(Set(ours.map(Self.name)) == Set(theirs.map { Self.name(String($0)) }), "\(line)")
            accepted += 1
        }
        #expect(accepted > 60)
    }

    private static func name(_ assignment: String) -> Substring { assignment.prefix { $0 != "=" } }

    @Test("Limits are equal numbers")
    func limits() throws {
        let answers = try Systemd.read(KeyTests.limits.map { "ExecStart=/bin/web\n\($0.setting)" })
        for (row, answer) in zip(KeyTests.limits, answers) {
            let key = row.setting.prefix { $0 != "=" }
            #expect(answer.contains("\(key): \(row.hard)"), "\(row.setting)")
            #expect(answer.contains("\(key)Soft: \(row.soft)"), "\(row.setting)")
        }
    }

    @Test("Other values are equal")
    func otherValues() throws {
        let rows: [(setting: String, printed: String)] = [
            ("UMask=27", "UMask: 0027"), ("MemoryMax=1.5G", "MemoryMax: 1610612736"),
            ("MemoryMax=512 K", "MemoryMax: 524288"),
            ("CPUQuota=12.5%", "CPUQuotaPerSecSec: 125ms"), ("CPUQuota=250%", "CPUQuotaPerSecSec: 2.5"),
            ("TasksMax=64", "TasksMax: 64"), ("Nice=+5", "Nice: 5"), ("OOMScoreAdjust=-5", "OOMScoreAdjust: -5"),
            ("WorkingDirectory=-/srv", "WorkingDirectory: /srv"),
            ("EnvironmentFile=-/etc/%%x", "EnvironmentFile: -/etc/%x"),
            ("StandardOutput=append:/x y", "StandardOutput: append"),
            ("User=a-b", "User: a-b"), ("SupplementaryGroups=a  b", "SupplementaryGroups: a b"),
        ]
        let answers = try Systemd.read(rows.map { "ExecStart=/bin/web\n\($0.setting)" })
        for (row, answer) in zip(rows, answers) {
            #expect(answer.contains { $0.hasPrefix(row.printed) }, "\(row.setting): \(answer)")
            #expect(try app(in: "App", row.setting).diagnostics == [], "\(row.setting)")
        }
    }

    @Test("Each of systemd's settings is supported, has another name, or is rejected with the reason")
    func everySettingIsAnswered() throws {
        let settings = Systemd.settings()
        #expect(settings.count > 300)
        for (section, key) in settings {
            for place in [section, "App"] {
                let app = try app("[\(place)]\n\(key)=x\n")
                let unknown = app.messages.filter { $0.contains("unknown key") }
                #expect(unknown == [], "[\(place)]")
            }
        }
    }
}
