// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogImport

/// The installed docker-compose, as a module of Debian's Python.
private enum InstalledCompose {
    static let isThere = output(of: "/usr/bin/python3 -c 'import compose.config'").status == 0
    static let reason = "/usr/bin/python3 has no module compose"

    struct Answer: Decodable {
        let refused: String?
        let services: [Service]
        /// The output of `docker-compose config`.
        let text: String?
    }

    struct Service: Decodable {
        let name: String
        let environment: [String: String?]?
        let healthcheck: HealthCheck?
        let restart: String?
        let stopGracePeriod: String?
        let workingDir: String?

        enum CodingKeys: String, CodingKey {
            case name, environment, healthcheck, restart
            case stopGracePeriod = "stop_grace_period"
            case workingDir = "working_dir"
        }

        struct HealthCheck: Decodable {
            let test: Text?
            let interval: String?
            let timeout: String?
        }
    }

    /// A text, or a list of them.
    enum Text: Decodable {
        case text(String)
        case list([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .list(try container.decode([String].self))
            }
        }
    }

    /// What it reads from each of the files.
    static func read(_ files: [String]) throws -> [Answer] { try answers(of: "compose-config.py", about: files) }
}

/// The common subset of docker-compose 1.29 and today's docker compose.
///
/// It supports neither `${A:+b}`, nested defaults, days, weeks and `include`, nor `$A` in `.env`, and treats `disable:
/// false` as true.
@Suite(
    "Compared with docker-compose", .enabled(if: InstalledCompose.isThere, "\(InstalledCompose.reason)"), .reapsChildren
)
struct ComposeComparisonTests {
    private static let options: [String: [String]] = [
        "command": [
            "a b", "a 'b c' \"d\"", "[a, \"b c\", '']", "a $$HOME", "a ${X:-y} z", "a ${N-q r}", "a \\\\ b", "'a b'",
            "a \"${X:-y z}\" w", "a\\ b c", "[a, '$$HOME', \"${X:-y}\"]", "", ">\n      a\n      b \"c d\"", "a \"\" c",
            "a b\\\"c", "a #b", "a 'it'\"'\"'s'", "\"a\n      b\n\n      c\"", "'a\n      it b'", "\"a \\\"x\\\" # b\"",
            "\"a\\\n      \\ b\\u0041\"", "[a, \"b,\n      c\"]",
            "[\"\(String(repeating: "long word, ", count: 12))\"]",
            "a \(String(repeating: "plain words ", count: 12))",
        ],
        "environment": [
            "[A=1, B=, \"C=x y\"]", "{A: 1, B: \"\", C: ~}", "{A: 'True', B: 1.5, C: 10}", "[A=1, B=2]",
            "[\"A=a=b\", 'B=$$x', \"C=${X:-y}\"]", "{A: \"x\\ny\"}", "{A: 1.10, B: 007, C: 1e3}", "[A, B=2]",
            "{E: , A: ~}", "{A: ${N:-1}, B: \"${Q-}\"}", "[\"A='q'\", B=\"q\"]", "{A: 0x1F, B: 1_000, C: 012, D: 1.0}",
            "{A: null, B: 'null'}", "{A: -4, B: .5, C: +1}", "&v {A: 1}\n    x-v: *v",
            "\n      <<: {A: 1, B: 2}\n      B: 3", "{A: \"é \\t # \\\\\"}", "{A: \"a\n      b\"}",
        ],
        "healthcheck": [
            "{test: a b, interval: 1m30s, retries: 3}", "{test: [CMD, a, b c], timeout: 10s}",
            "{test: [CMD-SHELL, \"a | b\"], start_period: 1h}", "{test: [NONE]}", "{disable: true}",
            "{test: a, interval: 500ms, timeout: 1.5s}", "{test: a $$B, interval: \"${T:-5s}\"}", "{test: [a, b]}",
            "{test: a, retries: \"${N:-2}\"}", "{test: a, interval: 1h2m3s}", "{test: []}", "{test: a, interval: 30}",
        ],
        "restart": ["always", "unless-stopped", "\"no\"", "on-failure", "on-failure:3", "${R:-always}"],
        "stop_grace_period": ["1m30s", "90s", "1h", "1.5s", "${T:-3s}", "5"],
        "working_dir": ["/srv", "/${X:-y}/z", "/a$$b", "${W:-/w}", "/srv/x y"],
        "user": ["me", "\"33:44\"", "\"${U:-root}\"", "me:grp"],
        "ulimits": ["{nofile: 5}", "{nproc: {soft: 1, hard: 2}, nofile: 7}", "{nofile: \"${F:-9}\"}"],
        "mem_limit": ["64m", "1g", "300kb", "1048576", "${M:-5m}"], "cpus": ["0.5", "\"1.5\"", "2"],
        "pids_limit": ["100"], "oom_score_adj": ["5", "-5"], "group_add": ["[adm, \"20\"]"],
        "deploy": ["{resources: {limits: {cpus: '0.5', memory: 50M}}}"], "stop_signal": ["SIGTERM", "SIGINT"],
    ]

    private static let variables = [
        "X=fromenv", "E=", "E=e v", "T=7s", "Q='single $X'", "R=on-failure:2", "N=3", "W=/from", "# c", "U=daemon",
        "export F=11", "D=\"q ${X} w\"", "M=6m", "X='s'", "E=a#b", "E=a #b", "E=\"a #b\" # c", "X=\"a\\tb\"",
    ]

    private static func randomFile(_ random: inout SeededGenerator) -> (text: String, variables: String) {
        var text = "version: '3.8'\nservices:\n"
        for name in ["a", "b"].prefix(1 + random.below(2)) {
            text +=
                "  \(name):\n    image: x\n    entrypoint: \(random.pick(["/bin/e", "[/bin/e, x y]", "/bin/e -q 'a b'"]))\n"
            var keys = options.keys.sorted()
            for _ in 0..<random.below(6) {
                let key = keys.remove(at: random.below(keys.count))
                text += "    \(key): \(random.pick(options[key] ?? []))\n"
            }
        }
        let lines = (0..<random.below(4)).map { _ in random.pick(variables) + "\n" }
        return (text, lines.joined())
    }

    // MARK: - Random files

    @Test("Random files are read like docker-compose reads them, and like its output for them")
    func randomFiles() throws {
        var random = SeededGenerator(seed: testSeed)
        let files = (0..<150).map { _ in Self.randomFile(&random) }
        let folders = try files.map { file in
            let folder = try ScratchFolderBox()
            try folder.write(file.text, to: "docker-compose.yml")
            if !file.variables.isEmpty { try folder.write(file.variables, to: ".env") }
            return folder
        }
        let answers = try InstalledCompose.read(folders.map { "\($0.path)/docker-compose.yml" })
        try #require(answers.count == files.count)
        var accepted = 0
        for (file, answer) in zip(files, answers) {
            let seed = "\(file.text)\(file.variables)seed \(testSeed)"
            // It is stricter about strings; values that are not understood have a note.
            guard answer.refused == nil, let text = answer.text else { continue }
            guard failure(file.text, as: "compose.yml", variables: file.variables) == nil else {
                Issue.record("\(failure(file.text, as: "compose.yml", variables: file.variables) ?? ""): \(seed)")
                continue
            }
            accepted += 1
            let others = file.variables.isEmpty ? [:] : ["/srv/.env": file.variables]
            let result = try imported(file.text, as: "compose.yml", others: others)
            for service in answer.services { compare(service, result, seed) }
            try compareSettings(result, text, seed)
        }
        #expect(accepted > 70, "seed \(testSeed)")
    }

    /// The output of `docker-compose config` is a compose file with the same meaning, without variables.
    private func compareSettings(_ result: ImportResult, _ text: String, _ seed: String) throws {
        let printed = try imported(text, as: "config.yml")
        for app in result.apps {
            let other = try #require(printed.apps.first { $0.name == app.name }, "\(app.name) in \(text)")
            func lines(_ app: ImportedApp) -> Set<String> {
                Set(app.text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") })
            }
            // Values that YAML parses as numbers, and unknown ones, are named.
            for line in lines(app).symmetricDifference(lines(other)) {
                let name = line.drop { $0 != "=" }.dropFirst().prefix { $0 != "=" }.filter { $0 != "\"" }
                let isNamed = result.notes.contains { note in
                    note.message.contains("\(name): compose reads")
                        || note.message.contains("is not in the file") && note.message.contains(name)
                }
                #expect(isNamed, "\(line) of \(app.name): \(text)\n\(seed)")
            }
        }
    }

    private func compare(_ theirs: InstalledCompose.Service, _ result: ImportResult, _ seed: String) {
        guard let app = result.apps.first(where: { $0.name.description == theirs.name }) else {
            Issue.record("no \(theirs.name): \(seed)")
            return
        }
        let lines = app.text.split(separator: "\n").map(String.init)
        func value(_ key: String) -> String? {
            lines.first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
        }
        func isNamed(_ word: String) -> Bool { result.notes.contains { $0.message.contains(word) } }
        #expect(value("WorkingDirectory") == theirs.workingDir || isNamed("working_dir"), "\(seed)")
        #expect(value("Terminate") == span(theirs.stopGracePeriod ?? "10s") || isNamed("stop_grace_period"), "\(seed)")
        let policies = [
            "always": "always", "unless-stopped": "always", "no": "never", "on-failure": "on-failure", "": "never",
        ]
        let restart = (theirs.restart ?? "").split(separator: ":").map(String.init)
        #expect(value("Policy") == policies[restart.first ?? ""] || isNamed("restart"), "\(seed)")
        if restart.count > 1 { #expect(value("Limit") == restart[1], "\(seed)") }
        let ours = Dictionary(
            app.definition.configuration?.program.environment.map { ($0.name, $0.value) } ?? [],
            uniquingKeysWith: { $1 })
        for (name, value) in theirs.environment ?? [:] {
            #expect(ours[name] == value || isNamed("\(name): "), "\(name) of \(seed)")
        }
        guard let check = theirs.healthcheck, !isNamed("healthcheck: the value of") else { return }
        switch check.test {
        case .list(["NONE"]), nil: #expect(value("Probe") == nil, "\(seed)")
        case .text(let text): #expect(value("Probe") == "exec:\(text)", "\(seed)")
        case .list(let words):
            let command = words.dropFirst().map { $0.contains(" ") && words[0] == "CMD" ? "'\($0)'" : $0 }
            #expect(value("Probe") == "exec:\(command.joined(separator: " "))", "\(seed)")
        }
        guard value("Probe") != nil else { return }
        #expect(value("ProbeInterval") == span(check.interval ?? "30s") || isNamed("interval="), "\(seed)")
        #expect(value("ProbeTimeout") == span(check.timeout ?? "30s") || isNamed("timeout="), "\(seed)")
    }

    /// A duration in whole units, as in an app file.
    private func span(_ text: String) -> String {
        let units = ["ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600]
        var rest = text[...]
        var seconds = 0.0
        while !rest.isEmpty {
            let number = rest.prefix { $0.isNumber || $0 == "." }
            rest = rest.dropFirst(number.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(max(unit.count, 1))
            seconds += (Double(number) ?? 0) * (units[String(unit)] ?? 1)
        }
        return TimeSpan.format(.nanoseconds(Int64((seconds * 1e9).rounded())))
    }

    // MARK: - Merged files

    @Test("A file rejected with the advice to import docker compose config's output is imported from that")
    func merged() throws {
        let folder = try ScratchFolderBox()
        let base = """
            version: "2.4"
            services:
              base:
                image: x
                entrypoint: /bin/base
                environment: [A=base, B=base]
                restart: always
                stop_grace_period: 20s
              web:
                extends: base
                command: [serve, "\(String(repeating: "a long argument: ", count: 9))"]
                environment: {B: web, C: "${C:-c}"}
                healthcheck: {test: [CMD, check, "it's"], interval: 1m30s}
                ulimits: {nofile: 5}

            """
        let override = """
            version: "2.4"
            services:
              web:
                command: serve again
                environment: {C: override}
                healthcheck: {interval: 10s}
                ulimits: {nproc: 7}
                restart: "no"

            """
        try folder.write(base, to: "docker-compose.yml")
        #expect(failure(base, as: "docker-compose.yml")?.contains("import what 'docker compose config' prints") == true)
        for isOverridden in [false, true] {
            if isOverridden { try folder.write(override, to: "docker-compose.yml.override") }
            let answer = try #require(try InstalledCompose.read(["\(folder.path)/docker-compose.yml"]).first)
            let result = try imported(try #require(answer.text, "\(answer.refused ?? "")"), as: "config.yml")
            let web = try #require(result.apps.first { $0.name.description == "web" }).text
            for setting in isOverridden
                ? [
                    "ExecStart=/bin/base serve again", "Environment=A=base", "Environment=B=web",
                    "Environment=C=override", "ProbeInterval=10s", "LimitNOFILE=5", "LimitNPROC=7", "Policy=never",
                    "Terminate=20s", "Probe=exec:check 'it'\\''s'",
                ]
                : [
                    "ExecStart=/bin/base serve \"\(String(repeating: "a long argument: ", count: 9))\"",
                    "Environment=A=base", "Environment=B=web", "Environment=C=c", "ProbeInterval=1min 30s",
                    "LimitNOFILE=5", "Policy=always", "Terminate=20s",
                ]
            {
                #expect(web.contains("\n\(setting)\n"), "\(setting) in \(web)")
            }
        }
    }
}

/// A folder that can be in a list.
private final class ScratchFolderBox {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    var path: String { folder.path }

    func write(_ text: String, to name: String) throws { _ = try folder.write(text, to: name) }
}

/// The error message of a failed import with a file of variables beside it.
private func failure(_ text: String, as name: String, variables: String) -> String? {
    do {
        _ = try imported(text, as: name, others: variables.isEmpty ? [:] : ["/srv/.env": variables])
        return nil
    } catch {
        return "\(error)"
    }
}
