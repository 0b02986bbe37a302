// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration

@Suite("Hostile files")
struct HostileTests {
    /// Every key with a value, so that a mutation reaches every parser.
    static let everything = """
        [App]
        ExecStart=-@/bin/web web "a b" $X ${Y} \\; \\x41 %n \\
          # comment
          --more
        ExecStartPre=+/bin/a ; :/bin/b 'c'
        ExecReload=/bin/kill -HUP $MAINPID
        Description=%p on %H
        User=www-data
        Group=100
        SupplementaryGroups=a b
        WorkingDirectory=-/srv
        Environment="A=b c" D=e
        EnvironmentFile=-/etc/x
        UMask=0027
        Nice=5
        OOMScoreAdjust=-5
        LimitCPU=1min:infinity
        LimitNOFILE=1024:4096
        LimitCORE=1.5G
        LimitNICE=+5
        StandardOutput=append:/x
        StandardError=inherit
        NoNewPrivileges=yes
        CPUQuota=12.5%
        MemoryMax=50%
        TasksMax=64
        Enabled=no
        [Watchdog]
        Launch=1min 30s
        Update=2.5s
        Terminate=5s
        Ping=1s
        Readiness=listen:[::1]:8080
        Probe=http://127.0.0.1:80/x
        ProbeInterval=1s
        ProbeTimeout=1s
        ProbeThreshold=3
        ProbeStatus=200,204-206
        ProbeBody=ok
        Enforce=kill
        ExtensionCap=1h
        AllowBlindExtension=no
        KeepReports=30d
        TimeScale=1.5
        [Restart]
        Policy=always
        Delay=100ms
        Factor=2
        MaxDelay=1min
        Reset=1min
        Limit=10
        LimitInterval=10min
        LimitHang=infinity
        AtLimit=stop

        """

    private func read(_ bytes: [UInt8]) throws -> AppDefinition {
        AppDefinition(
            name: try AppName("web@1"), files: [ConfigurationFile(path: "web@1.app", contents: bytes)],
            specifiers: specifiers)
    }

    /// Checks the properties of every file.
    private func check(_ app: AppDefinition, _ bytes: [UInt8], _ note: @autoclosure () -> String) {
        let hasErrors = app.diagnostics.contains { $0.severity == .error }
        if hasErrors != (app.configuration == nil) { Issue.record("a configuration in spite of errors: \(note())") }
        let lines = bytes.count { $0 == 0x0a } + 1
        for diagnostic in app.diagnostics {
            let isInside = diagnostic.line.map { (1...lines).contains($0) } ?? true
            let isShort = diagnostic.text.unicodeScalars.count < 1_200
            let isPlain = diagnostic.text.unicodeScalars.allSatisfy {
                $0 == "\n" || $0.value >= 0x20 && $0.value != 0x7f
            }
            if !isInside || !isShort || !isPlain || diagnostic.column ?? 1 < 1 {
                Issue.record("\(diagnostic): \(note())")
            }
        }
        if let configuration = app.configuration { _ = configuration.spec }
    }

    @Test("The original of the mutated files is valid")
    func original() throws {
        let app = try read(Array(Self.everything.utf8))
        #expect(app.diagnostics == [])
    }

    @Test("Random bytes are rejected or parsed, and never trap")
    func randomBytes() throws {
        var generator = SeededGenerator(seed: 1)
        for round in 0..<3_000 {
            let bytes = (0..<generator.below(400)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            check(try read(bytes), bytes, "round \(round)")
        }
    }

    @Test("Random lines of meaningful words are rejected or parsed, and never trap")
    func randomLines() throws {
        var generator = SeededGenerator(seed: 2)
        let words =
            ConfigurationKey.allCases.map { "\($0.rawValue)=" } + [
                "[", "]", "[App]", "[Watchdog]", "[Restart]", "[Service]", "=", "\n", "\\\n", "\n#", ";", "\"", "'",
                "\\", "%", "%n", "$", "${", "}",
                ":", "/", "exec:", "tcp:", "http://", "listen:", "file:", "1", "0", "-", "+", "@", "s", "min", "K",
                "%%", "infinity", ".", "\r\n",
                "\u{feff}", "é", "\u{0}", "\t", " ", "yes", "99999999999999999999", "[::1]", "127.0.0.1", "unix:",
            ]
        for round in 0..<StormScale.part(of: 4_000) {
            let text = (0..<generator.below(40)).map { _ in generator.pick(words) }.joined()
            check(try read(Array(text.utf8)), Array(text.utf8), "round \(round): \(text)")
        }
    }

    @Test("Mutations of a valid file are rejected or parsed, and never trap")
    func mutations() throws {
        var generator = SeededGenerator(seed: 3)
        let original = Array(Self.everything.utf8)
        let interesting = Array("\"'\\%$[]=\n#;:-+@/.0 9\t\r{}".utf8) + [0, 0xff, 0xc3, 0x7f, 0x01]
        var valid = 0
        for round in 0..<4_000 {
            var bytes = original
            for _ in 0...generator.below(4) {
                let index = generator.below(bytes.count)
                switch generator.below(5) {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: generator.next())
                case 1: bytes[index] = generator.pick(interesting)
                case 2: bytes.insert(generator.pick(interesting), at: index)
                case 3: bytes.removeSubrange(index..<min(bytes.count, index + 1 + generator.below(20)))
                default: bytes += bytes[index..<min(bytes.count, index + generator.below(60))]
                }
            }
            let app = try read(bytes)
            check(app, bytes, "round \(round)")
            if app.configuration != nil { valid += 1 }
        }
        #expect(valid > 50)
    }

    @Test(
        "The time to parse a file grows with its length, not with the square of it",
        arguments: [
            "Environment=A%=1\n", "x", "\\\n", "[\n", "ExecStartPre=/bin/x ;", "\"", "$", "SupplementaryGroups=a\n",
            "Nice=1\n", "# \n", "\\q", "\\q\\\n", "Environment=A=",
        ])
    func bigFiles(pattern: String) throws {
        var text = "[App]\nExecStart=/bin/web "
        var number = 0
        let isNumbered = pattern.contains("%")
        while text.utf8.count < 768 << 10 {
            text += isNumbered ? pattern.replacing("%", with: "\(number)") : pattern
            number += 1
            if pattern.utf8.count <= 2, number % 100_000 == 0, pattern != "\\\n" { text += "\nExecStartPre=/bin/x " }
        }
        let clock = ContinuousClock()
        let start = clock.now
        _ = try read(Array(text.utf8))
        // A second or two in a debug build; the square takes minutes.
        #expect(clock.now - start < patience)
    }
}
