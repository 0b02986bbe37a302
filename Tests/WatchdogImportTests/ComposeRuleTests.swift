// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogImport

/// The compose specification's rule for each key, and its conversion.
@Suite("Rules of the compose specification")
struct ComposeRuleTests {
    private func service(_ lines: String) throws -> ImportResult {
        try imported("services:\n  a:\n    entrypoint: /bin/a\n    user: me\n    \(lines)\n", as: "compose.yml")
    }

    /// A line of a service, the resulting settings, and words of the notes on it.
    private static let rules: [(line: String, settings: [String], notes: [String])] = [
        // Health checks.
        ("healthcheck: {test: [CMD-SHELL, \"a | b\"]}", ["Probe=exec:a | b"], []),
        (
            "healthcheck: {test: [CMD-SHELL, \"curl -s http://127.0.0.1/up\", \"|\", \"grep 'UP'\"]}",
            ["Probe=exec:curl -s http://127.0.0.1/up"], ["\"| grep 'UP'\" only becomes its arguments"]
        ),
        (
            "healthcheck: {test: [CMD-SHELL, 'test \"$$1\"', x, y z]}",
            ["Probe=exec:/bin/sh -c 'test \"$1\"' x 'y z'"], ["only becomes its arguments"]
        ),
        ("healthcheck: {test: [CMD, a, \"|\", b c]}", ["Probe=exec:a '|' 'b c'"], []),
        ("healthcheck: {test: a | b}", ["Probe=exec:a | b"], []),
        ("healthcheck: {test: [NONE]}", [], []), ("healthcheck: {test: []}", [], ["the file has no test"]),
        ("healthcheck: {test: [a, b]}", [], ["neither CMD, CMD-SHELL nor NONE"]),
        ("healthcheck: {test: [CMD]}", [], ["no command follows CMD"]),
        ("healthcheck: {test: [CMD-SHELL]}", [], ["no command follows CMD-SHELL"]),
        ("healthcheck: {test: {a: b}}", [], ["neither a text nor a list"]),
        ("healthcheck: {test: [CMD, [a]]}", [], ["not a text"]),
        ("healthcheck: {interval: 1s}", [], ["the file has no test"]),
        ("healthcheck: {test: a, disable: true}", [], []), ("healthcheck: {test: a, disable: \"yes\"}", [], []),
        ("healthcheck: {test: a, disable: TRUE}", [], []), ("healthcheck: {test: a, disable: On}", [], []),
        ("healthcheck: {test: a, disable: y}", [], []),
        ("healthcheck: {test: a, disable: false}", ["Probe=exec:a"], []),
        ("healthcheck: {test: a, disable: \"off\"}", ["Probe=exec:a"], []),
        ("healthcheck: {test: a, disable: maybe}", [], ["neither true nor false"]),
        ("healthcheck: {test: \"a $${B}\"}", ["Probe=exec:a ${B}"], []),
        ("healthcheck: {test: \"a ${B:-c}\"}", ["Probe=exec:a c"], ["variables of compose became their defaults"]),
        ("healthcheck: {test: \"a ${B}\"}", [], ["the value of ${B} is not in the file"]),
        // Times.
        ("healthcheck: {test: a, interval: 1m30s}", ["ProbeInterval=1min 30s"], []),
        ("healthcheck: {test: a, interval: 1.5s, timeout: 500ms}", ["ProbeInterval=1.5s", "ProbeTimeout=500ms"], []),
        ("healthcheck: {test: a, interval: 1h}", ["ProbeInterval=1h"], []),
        ("healthcheck: {test: a, interval: 30}", ["ProbeInterval=30s"], ["interval=30 is not a time span"]),
        ("healthcheck: {test: a, timeout: 5 s}", ["ProbeTimeout=30s"], ["timeout=5 s is not a time span"]),
        ("healthcheck: {test: a, timeout: -5s}", ["ProbeTimeout=30s"], ["timeout=-5s is not a time span"]),
        ("healthcheck: {test: a, retries: 5}", ["ProbeThreshold=5", "Launch=2min 30s"], []),
        ("healthcheck: {test: a, retries: 0}", ["ProbeThreshold=3"], []),
        ("healthcheck: {test: a, retries: x}", ["ProbeThreshold=3"], ["retries=x"]),
        ("healthcheck: {test: a, start_period: 1d}", ["Probe=exec:a", "Launch=24h 1min 30s"], []),
        ("healthcheck: {test: a, start_interval: 1s}", ["Probe=exec:a"], ["start_interval=1s"]),
        ("healthcheck: {test: a, colour: red}", ["Probe=exec:a"], ["colour is not a setting"]),
        ("stop_grace_period: 1m30s", ["Terminate=1min 30s"], []),
        ("stop_grace_period: 0s", ["Terminate=1ms"], ["=1ms"]),
        ("stop_grace_period: 5", ["Terminate=10s"], ["is not a time span"]),
        ("stop_signal: SIGTERM", ["Terminate=10s"], []), ("stop_signal: SIGINT", [], ["stop_signal=SIGINT"]),
        // Commands: compose runs no shell.
        ("command: a 'b c' \"d\"", ["ExecStart=/bin/a a \"b c\" d"], []),
        ("command: a && b", ["ExecStart=/bin/a a"], ["only up to \"&& b\""]),
        ("command: a; b", ["ExecStart=/bin/a a"], ["only up to \"; b\""]),
        ("command: a 2>log", ["ExecStart=/bin/a a"], ["only up to \"2>log\""]),
        ("command: sh -c 'a && b'", ["ExecStart=/bin/a sh -c \"a && b\""], []),
        ("command: a $$B", ["ExecStart=/bin/a a $$B"], []), ("command: a \\t b", ["ExecStart=/bin/a a \"\\t\" b"], []),
        ("command: [a, \"b;c\", \"&&\"]", ["ExecStart=/bin/a a \"b;c\" &&"], []),
        ("command: []", ["ExecStart=/bin/a"], []), ("command: a ${B:-c d}", ["ExecStart=/bin/a a c d"], ["defaults"]),
        // Variables.
        ("working_dir: ${A:-/srv/${B:-b}}/c", ["WorkingDirectory=/srv/b/c"], ["defaults"]),
        ("working_dir: ${A-}/c", ["WorkingDirectory=/c"], ["defaults"]),
        ("working_dir: /a$$b", ["WorkingDirectory=/a$b"], []), ("working_dir: /${A:?no}", [], ["the value of ${A}"]),
        ("working_dir: /${A:+x}", [], ["the value of ${A}"]), ("working_dir: /$1", [], ["a lone \"$\""]),
        ("stop_grace_period: ${T:-3s}", ["Terminate=3s"], ["defaults"]),
        ("restart: ${R:-always}", ["Policy=always"], ["defaults"]),
        // The environment.
        ("environment: [A=1, B=, \"C=x y\"]", ["Environment=A=1", "Environment=B=", "Environment=\"C=x y\""], []),
        ("environment: {A: 1, B: \"\", C: ~}", ["Environment=A=1", "Environment=B="], ["C: compose takes its value"]),
        (
            "environment: {A: True, B: 'True', C: yes}",
            ["Environment=A=true", "Environment=B=True", "Environment=C=yes"], []
        ),
        ("environment: {A: 1.10}", ["Environment=A=1.10"], ["reads 1.10 as a number"]),
        ("environment: {A: 007}", ["Environment=A=007"], ["reads 007 as a number"]),
        (
            "environment: {A: '1.10', B: 1.5, C: 10, D: 1.2.3, E: -4}", ["Environment=A=1.10", "Environment=D=1.2.3"],
            []
        ),
        ("environment: [A=1.10, A$$]", ["Environment=A=1.10"], ["A$: compose takes its value"]),
        (
            "env_file: [{path: ./a.env, required: false}, b.env]",
            ["EnvironmentFile=-/srv/a.env", "EnvironmentFile=/srv/b.env"], []
        ),
        ("env_file: {path: /a.env, format: raw}", ["EnvironmentFile=/a.env"], ["env_file.format"]),
        // Users.
        ("group_add: [adm, \"20\"]", ["SupplementaryGroups=adm 20"], []),
        // Restarts.
        ("restart: always", ["Policy=always"], []), ("restart: unless-stopped", ["Policy=always"], []),
        ("restart: \"no\"", ["Policy=never"], []), ("restart: no", ["Policy=never"], []),
        ("restart: on-failure", ["Policy=on-failure"], []),
        ("restart: on-failure:3", ["Policy=on-failure", "Limit=3", "AtLimit=stop"], []),
        ("restart: sometimes", ["Policy=on-failure"], ["\"sometimes\" is not a policy"]),
        (
            "deploy: {restart_policy: {condition: on-failure, delay: 5s, max_attempts: 3, window: 2m}}",
            ["Policy=on-failure", "Limit=3", "AtLimit=stop", "LimitInterval=2min", "Delay=5s"], []
        ),
        ("deploy: {restart_policy: {}}", ["Policy=always"], []),
        // Resources.
        ("mem_limit: 1.5g", ["MemoryMax=1610612736"], []), ("mem_limit: 64MiB", ["MemoryMax=64M"], []),
        ("mem_limit: 300kb", ["MemoryMax=300K"], []), ("mem_limit: 1048576b", ["MemoryMax=1048576"], []),
        ("mem_limit: lots", [], ["memory: lots"]), ("cpus: 0.25", ["CPUQuota=25%"], []),
        ("cpus: 0", ["Policy=never"], []),
        ("pids_limit: 100", ["TasksMax=100"], []), ("pids_limit: -1", ["Policy=never"], []),
        (
            "deploy: {replicas: 3, resources: {limits: {cpus: '2', pids: 5, memory: 1g}, reservations: {cpus: '1'}}}",
            ["CPUQuota=200%", "TasksMax=5", "MemoryMax=1G"], ["deploy.replicas", "deploy.resources.reservations"]
        ),
        ("deploy: {replicas: 1, labels: {a: b}}", ["Policy=never"], ["deploy.labels"]),
        ("ulimits: {nofile: 5, nproc: {soft: 1, hard: -1}}", ["LimitNOFILE=5", "LimitNPROC=1:infinity"], []),
        ("ulimits: {cpu: 60, colour: 1}", ["LimitCPU=60s"], ["there is no limit colour"]),
        // Values of another type.
        ("environment: a", [], ["environment: a mapping is expected"]), ("ulimits: [a]", [], ["a mapping is expected"]),
        ("deploy: a", [], ["a mapping is expected"]), ("security_opt: a", [], ["a list is expected"]),
        ("working_dir: [a]", [], ["a text is expected"]), ("environment: {A: [b]}", [], ["A: a text is expected"]),
        // Values that stay unchanged or are named.
        ("profiles: [debug]", ["Enabled=no"], ["profiles: Enabled=no"]), ("profiles: []", ["Policy=never"], []),
        ("depends_on: {b: {condition: service_healthy}}", [], ["depends_on: apps do not depend on each other"]),
        ("init: true", [], ["init: has no counterpart"]), ("ports: [\"80:80\"]", [], ["ports: "]),
        ("security_opt: [\"no-new-privileges:true\", seccomp=x]", ["NoNewPrivileges=yes"], ["security_opt"]),
        ("x-other: 1", ["Policy=never"], []),
    ]

    @Test("A line is converted or named with its reason", arguments: rules)
    func rule(line: String, settings: [String], notes: [String]) throws {
        let result = try service(line)
        for setting in settings { #expect(result.settings.contains(setting), "\(result.settings)") }
        if !settings.contains(where: { $0.hasPrefix("Probe") }) {
            #expect(!result.settings.contains { $0.hasPrefix("Probe") })
        }
        // Except notes on the whole file, and on every converted health check.
        let others = result.notes.filter {
            !$0.message.hasPrefix("Policy=never") && !$0.message.contains("Docker only marks")
        }
        #expect(others.count == notes.count, "\(others)")
        for (note, words) in zip(others, notes) { #expect(note.message.contains(words), "\(note)") }
    }

    @Test(
        "A command becomes an http probe only if that has the same meaning",
        arguments: [
            ("curl -f http://localhost/", true), ("curl -sSf http://localhost:80/a/b-c.d", true),
            ("curl --fail --silent http://127.0.0.1:8080", true),
            ("/usr/bin/curl -fsS http://localhost/ || exit 1", true),
            ("wget -qO- http://localhost/", true),
            ("wget --quiet --tries=1 --spider http://localhost/ || exit 1", true),
            // Any status is a success.
            ("curl http://localhost/", false), ("curl -s http://localhost/ || exit 1", false),
            // Never fails.
            ("curl -f http://localhost/ || exit 0", false), ("curl -f http://localhost/ || true", false),
            // Other requests.
            ("curl -fk http://localhost/", false), ("curl -fL http://localhost/", false),
            ("curl -f -H A:b http://localhost/", false), ("curl -fX POST http://localhost/", false),
            ("curl -f --max-time 3 http://localhost/", false), ("curl -fo /dev/null http://localhost/", false),
            ("curl -f -u a:b http://localhost/", false), ("curl -f --unix-socket /s http://localhost/", false),
            ("curl -f --resolve a:80:127.0.0.1 http://localhost/", false), ("curl -fI http://localhost/", false),
            ("curl -f http://localhost/ http://localhost/b", false), ("curl -f", false),
            // Other hosts.
            ("curl -f http://localhost:80@web/", false), ("curl -f http://a:b@localhost/", false),
            ("curl -f http://localhost.example/", false), ("curl -f https://localhost/", false),
            ("curl -f http://localhost:99999/", false), ("curl -f localhost", false),
            // Text that curl or the shell expands.
            ("curl -f http://localhost/{a,b}", false), ("curl -f http://localhost/$$A", false),
            ("curl -f http://localhost/ | grep ok", false), ("curl -f http://localhost/ && b", false),
            ("A=1 curl -f http://localhost/", false), ("curl -f http://localhost/ > /dev/null", false),
            ("nc -z localhost 80", false), ("wget -T 3 -q http://localhost/", false),
        ])
    func probes(command: String, isPage: Bool) throws {
        let result = try service("healthcheck:\n      test: '\(command)'")
        let probe = try #require(result.settings.first { $0.hasPrefix("Probe=") })
        #expect(probe.hasPrefix("Probe=http://") == isPage, "\(probe)")
        if !isPage { #expect(probe == "Probe=exec:\(command.replacing("$$", with: "$"))") }
        // In a list, a shell's operators are arguments.
        let words = command.split { $0 == " " }.map { "\"\($0)\"" }.joined(separator: ", ")
        let list = try service("healthcheck: {test: [CMD, \(words)]}")
        #expect(list.settings.contains { $0.hasPrefix("Probe=http://") } == (isPage && !command.contains("||")))
    }

    @Test("An unknown user is left for later, and root is the default")
    func users() throws {
        func user(_ line: String) throws -> ImportResult {
            try imported("services:\n  a:\n    entrypoint: /bin/a\n\(line)", as: "compose.yml")
        }
        #expect(
            try user("    user: \"33:44\"\n").settings.filter { $0.contains("=33") || $0.contains("=44") }.count == 2)
        for line in ["    user: ${WHO}\n", "    user: \":44\"\n", "    user: a b\n"] {
            let result = try user(line)
            #expect(result.notes.first?.kind == .toDo, "\(line)")
            #expect(result.settings.contains("Enabled=no"), "\(line)")
            #expect(!result.settings.contains { $0.hasPrefix("User=") }, "\(line)")
        }
        #expect(try user("").lines.contains { $0.hasPrefix("compose.yml:2: changed: user: the file sets none") })
    }

    @Test("A construct that would omit some of the services is an error at its line")
    func refusals() {
        for (text, words) in [
            ("include: [b.yml]\nservices: {}\n", "1: error: include is not supported"),
            ("services:\n  a:\n    extends: b\n", "3: error: extends is not supported"),
            ("services:\n  a:\n    command: a ${B}\n", "3: error: command: the value of ${B}"),
            ("services:\n  a:\n    command: a (b)\n", "3: error: command: compose refuses a parenthesis"),
            ("services:\n  a:\n    command: [a, {b: c}]\n", "3: error: command: a text is expected"),
            ("services:\n  a: {command: a, command: b}\n", "2: error: the key \"command\" is set twice"),
        ] {
            #expect(failure(text, as: "compose.yml")?.contains(words) == true, "\(text)")
        }
    }

    @Test("Every key of a file is in the app file or in a note")
    func nothingIsLost() throws {
        let keys: [(line: String, setting: String?)] = [
            ("working_dir: /srv", "WorkingDirectory=/srv"), ("oom_score_adj: 5", "OOMScoreAdjust=5"),
            ("environment: {A: b}", "Environment=A=b"), ("env_file: a.env", "EnvironmentFile=/srv/a.env"),
            ("restart: always", "Policy=always"), ("stop_grace_period: 7s", "Terminate=7s"),
            ("cpus: 2", "CPUQuota=200%"),
            ("mem_limit: 5m", "MemoryMax=5M"), ("pids_limit: 9", "TasksMax=9"), ("ulimits: {core: 0}", "LimitCORE=0"),
            ("healthcheck: {test: a}", "Probe=exec:a"), ("command: b", "ExecStart=/bin/a b"),
            ("security_opt: [\"no-new-privileges:true\"]", "NoNewPrivileges=yes"),
            ("group_add: [adm]", "SupplementaryGroups=adm"),
            ("annotations: {}", nil), ("attach: false", nil), ("blkio_config: {weight: 3}", nil), ("build: .", nil),
            ("cap_add: [ALL]", nil), ("cap_drop: [ALL]", nil), ("cgroup: host", nil), ("cgroup_parent: x", nil),
            ("configs: [a]", nil), ("container_name: x", nil), ("cpu_shares: 3", nil), ("cpuset: 0-1", nil),
            ("depends_on: [b]", nil), ("develop: {}", nil), ("devices: [a]", nil), ("dns: 1.1.1.1", nil),
            ("domainname: x", nil), ("expose: [\"1\"]", nil), ("extra_hosts: [\"a:1.1.1.1\"]", nil),
            ("hostname: x", nil),
            ("image: x", nil), ("init: true", nil), ("ipc: host", nil), ("labels: [a]", nil), ("links: [b]", nil),
            ("logging: {driver: none}", nil), ("mac_address: x", nil), ("mem_reservation: 5m", nil),
            ("network_mode: none", nil), ("networks: [a]", nil), ("oom_kill_disable: true", nil), ("pid: host", nil),
            ("platform: linux/amd64", nil), ("ports: [\"1:1\"]", nil), ("post_start: [{command: a}]", nil),
            ("pre_stop: [{command: a}]", nil), ("privileged: true", nil), ("profiles: [a]", nil),
            ("pull_policy: always", nil), ("read_only: true", nil), ("runtime: runc", nil), ("scale: 3", nil),
            ("secrets: [a]", nil), ("shm_size: 5m", nil), ("stdin_open: true", nil), ("stop_signal: INT", nil),
            ("storage_opt: {size: 1g}", nil), ("sysctls: {a: 1}", nil), ("tmpfs: /a", nil), ("tty: true", nil),
            ("userns_mode: host", nil), ("uts: host", nil), ("volumes: [\"/a:/b\"]", nil), ("volumes_from: [b]", nil),
            ("deploy: {mode: global}", nil), ("nonsense: 1", nil),
        ]
        var random = SeededGenerator(seed: testSeed)
        for _ in 0..<60 {
            let chosen = keys.shuffled(using: &random).prefix(1 + random.below(12))
            let result = try service(chosen.map(\.line).joined(separator: "\n    "))
            for (offset, key) in chosen.enumerated() {
                let line = 5 + offset
                let isNamed = result.notes.contains { $0.place.line == line && !$0.message.contains("Docker only") }
                let isCarried = key.setting.map { result.settings.contains($0) } ?? false
                #expect(isNamed || isCarried, "\(key.line) (seed \(testSeed))")
            }
        }
        let root = try imported(
            "version: '3'\nname: x\nservices:\n  a: {entrypoint: /a, user: me}\nnetworks: {}\nvolumes: {}\nx-a: 1\n",
            as: "compose.yml")
        #expect(root.notes.compactMap(\.place.line) == [4, 1, 2, 5, 6])
    }
}
