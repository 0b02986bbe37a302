// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@Suite("Invalid values")
struct InvalidValueTests {
    @Test(
        "Invalid values in [App] are rejected",
        arguments: [
            ("Enabled=maybe", #""maybe" is neither yes nor no"#),
            ("User=a b", #""a b" is not the name or number of a user"#),
            ("User=-x", #""-x" is not the name or number of a user"#),
            ("User=4294967295", #""4294967295" is not the name or number of a user"#),
            ("Group=a:b", #""a:b" is not the name or number of a group"#),
            ("SupplementaryGroups=a b,c", #""b,c" is not the name or number of a group"#),
            ("WorkingDirectory=srv", #""srv" is not an absolute path"#),
            ("WorkingDirectory=~/x", #""~/x" is not an absolute path"#),
            ("Environment=1A=x", #""1A" is not a variable name; use letters, digits and "_", and no digit first"#),
            ("Environment==x", #""" is not a variable name; use letters, digits and "_", and no digit first"#),
            ("Environment=A=\\x01", "the value of A contains a control character"),
            ("EnvironmentFile=web.env", #""web.env" is not an absolute path"#),
            ("UMask=0999", #""0999" is not an octal number from 0 to 777"#),
            ("UMask=01000", #""01000" is not an octal number from 0 to 777"#),
            ("UMask=-1", #""-1" is not an octal number from 0 to 777"#),
            ("Nice=20", #""20" is not a whole number from -20 to 19"#),
            ("Nice=1.5", #""1.5" is not a whole number from -20 to 19"#),
            ("Nice=99999999999999999999", #""99999999999999999999" is not a whole number from -20 to 19"#),
            ("OOMScoreAdjust=-1001", #""-1001" is not a whole number from -1000 to 1000"#),
            ("LimitCPU=30", #""30" has no unit; write 30s or 30ms"#),
            ("LimitRTTIME=1s:2", #""2" has no unit; write 2s or 2ms"#),
            ("LimitFSIZE=-1", #""-1" is not a size; write bytes or for example 512K, 256M, 1.5G"#),
            ("LimitFSIZE=16E", #""16E" is not a size; write bytes or for example 512K, 256M, 1.5G"#),
            (
                "LimitFSIZE=18446744073709551615",
                #""18446744073709551615" is not a size; write bytes or for example 512K, 256M, 1.5G"#
            ),
            ("LimitNOFILE=8192:1024", "the soft limit is above the hard limit"),
            ("LimitNOFILE=infinity:5", "the soft limit is above the hard limit"),
            ("LimitNOFILE=1:2:3", #""2:3" is not a whole number"#),
            ("LimitNOFILE=:5", "a value is missing; write soft:hard or one value for both"),
            ("LimitNOFILE=5:", "a value is missing; write soft:hard or one value for both"),
            ("LimitNOFILE=1K", #""1K" is not a whole number"#),
            ("LimitNICE=41", #""41" is not a whole number from 0 to 40"#),
            ("LimitNICE=+20", #""+20" is not a whole number from -20 to 19"#),
            ("StandardOutput=file:x", #""x" is not an absolute path"#),
            ("NoNewPrivileges=2", #""2" is neither yes nor no"#),
            ("CPUQuota=0%", #""0%" is not a share of a CPU; write for example 50%, or 200% for two CPUs"#),
            ("CPUQuota=1", #""1" is not a share of a CPU; write for example 50%, or 200% for two CPUs"#),
            ("CPUQuota=1.234%", #""1.234%" is not a percentage; write for example 50% or 12.5%"#),
            ("MemoryMax=0", "0 leaves nothing; write infinity for no limit"),
            ("MemoryMax=101%", "a share of the machine is above 0% and at most 100%"),
            ("MemoryMax=0%", "a share of the machine is above 0% and at most 100%"),
            ("TasksMax=1K", #""1K" is not a whole number"#),
        ])
    func inApp(line: String, message: String) throws {
        try expect("App", line, message)
    }

    @Test(
        "In [Watchdog]",
        arguments: [
            ("Launch=20", #""20" has no unit; write 20s or 20ms"#),
            ("Launch=0s", #""0s" is too short: use at least 1 ms"#),
            ("Update=999us", #""999us" is too short: use at least 1 ms"#),
            ("Terminate=infinity", "a time span cannot be infinite; write for example 1h or 30d"),
            ("Ping=1 fortnight", #"unknown unit "fortnight"; use ns, µs, ms, s, min, h or d"#),
            ("Launch=101y", #"unknown unit "y"; use ns, µs, ms, s, min, h or d"#),
            ("Readiness=listen:", "the port is missing"),
            ("Readiness=listen:web:80", #""web" is not an IP address; names are not looked up, except localhost"#),
            ("Readiness=listen:70000", #"the port must be 1 … 65535, not "70000""#),
            ("Readiness=exec:", "the command is missing after exec:"),
            ("Readiness=listen:ADDR", #"the port must be 1 … 65535, not "ADDR""#),
            ("Probe=ftp:x", #""ftp:x" is not one of tcp:ADDR, unix:PATH, http://ADDR/PATH or exec:CMD"#),
            (
                "Probe=https://localhost",
                #""https://localhost" is not one of tcp:ADDR, unix:PATH, http://ADDR/PATH or exec:CMD; TLS is not supported, use exec:curl …"#
            ),
            ("Probe=tcp:*:80", "a probe needs a specific address; write localhost:PORT"),
            ("Probe=tcp:/run/x", "a Unix socket is written unix:/run/x"),
            ("Probe=tcp:1.2.3:80", #""1.2.3" is not an IP address; names are not looked up, except localhost"#),
            ("Probe=tcp:::1:80", "an IPv6 address goes in brackets: [::1:80]:PORT"),
            ("Probe=tcp:[::1]", #"":PORT" is missing after "]""#),
            ("Probe=unix:x", "a Unix socket is written as an absolute path or @NAME"),
            ("Probe=http://ann@localhost/", "the address cannot name a user"),
            (
                "Probe=http://localhost/a b",
                "the address may hold printable ASCII only, and no #; encode the rest"
            ),
            (
                "Probe=http://localhost/#x",
                "the address may hold printable ASCII only, and no #; encode the rest"
            ),
            ("Probe=http://:80/", "a probe needs a specific address; write localhost:PORT"),
            ("ProbeThreshold=0", #""0" is not a whole number from 1 to 1000"#),
            ("ProbeStatus=99", #""99" is not a list of status codes; write for example 200-299 or 200 204"#),
            ("ProbeStatus=299-200", #""299-200" is not a list of status codes; write for example 200-299 or 200 204"#),
            ("ProbeStatus=,", #""," is not a list of status codes; write for example 200-299 or 200 204"#),
            ("Enforce=maim", #""maim" is not one of kill, report or restart-unit"#),
            ("ExtensionCap=-1s", #""-1s" is not a time span; write for example 20s, 1min 30s or 250ms"#),
            ("KeepReports=1s", #""1s" is too short: use at least 1 min"#),
            ("TimeScale=0", #""0" is not a number from 0.001 to 1000"#),
            ("TimeScale=1e3", #""1e3" is not a number from 0.001 to 1000"#),
            ("TimeScale=nan", #""nan" is not a number from 0.001 to 1000"#),
        ])
    func inWatchdog(line: String, message: String) throws {
        try expect("Watchdog", line, message)
    }

    @Test(
        "In [Restart]",
        arguments: [
            ("Policy=on-abnormal", #""on-abnormal" is not one of always, on-failure, on-watchdog or never"#),
            ("Delay=5", #""5" has no unit; write 5s or 5ms"#),
            ("Factor=0.5", #""0.5" is not a number from 1 to 100"#),
            ("Factor=2x", #""2x" is not a number from 1 to 100"#),
            ("MaxDelay=infinity", "a time span cannot be infinite; write for example 1h or 30d"),
            ("Reset=0s", #""0s" is too short: use at least 1 ms"#),
            ("Limit=0", #""0" is not a whole number from 1 to 1000000"#),
            ("LimitCrash=-1", #""-1" is not a whole number from 1 to 1000000"#),
            ("LimitInterval=0s", #""0s" is too short: use at least 1 ms"#),
            ("AtLimit=reboot", #""reboot" is not one of stop or keep-trying"#),
        ])
    func inRestart(line: String, message: String) throws {
        try expect("Restart", line, message)
    }

    private func expect(_ section: String, _ line: String, _ message: String) throws {
        let app = try app(in: section, line)
        let key = line.prefix { $0 != "=" }
        #expect(app.messages.first == "\(key): \(message)")
        #expect(app.diagnostics.count { $0.severity == .error } == 1)
        #expect(app.configuration == nil)
        #expect(app.diagnostics.first?.line == (section == "App" ? 3 : 4))
    }

    @Test(
        "What to write instead is suggested",
        arguments: [
            ("App", "StandardOutput=/var/log/x", "append:/var/log/x"), ("App", "StandardOutput=jurnal", "journal"),
            ("App", "MemoryMax=512MB", "512M"), ("App", "MemoryMax=512 k", "512K"), ("App", "MemoryMax=1.5GiB", "1.5G"),
            ("Watchdog", "Readiness=simple", "auto"), ("Watchdog", "Readiness=notfy", "notify"),
            ("Watchdog", "Enforce=kil", "kill"),
            ("Restart", "Policy=no", "never"), ("Restart", "Policy=on-faliure", "on-failure"),
            ("Restart", "Policy=unless-stopped", "always"),
            ("Restart", "AtLimit=keeptrying", "keep-trying"), ("App", "ExecStartPre=bin/x", "x"),
            ("App", "ExecStartPre=/bin/x $HOME/.x", "${HOME}/.x"), ("App", "Nicee=5", "Nice"),
            ("App", "nice=5", "Nice"),
            ("App", "WatchdogSec=5", "[Watchdog] Update"), ("App", "Restart=always", "[Restart] Policy"),
            ("App", "Launc=5s", "[Watchdog] Launch"),
            ("Watchdog", "TimeoutStopSec=5", "Terminate"), ("Restart", "RestartSec=5", "Delay"),
            ("App", "WantedBy=multi-user.target", "Enabled"),
            ("Watchdog", "ProbeFailureThreshold=3", "ProbeThreshold"), ("Restart", "MaximumDelay=3s", "MaxDelay"),
            ("App", "ProbeResponseBody=ok", "[Watchdog] ProbeBody"),
        ])
    func suggestions(section: String, line: String, suggestion: String) throws {
        #expect(try app(in: section, line).diagnostics.first?.suggestion == suggestion)
    }

    @Test("A comment behind a value is recognized as one")
    func trailingComments() throws {
        #expect(
            try app(in: "App", "Nice=5 # polite").messages == [
                #"Nice: "5 # polite" is not a whole number from -20 to 19; comments must be on their own lines"#
            ])
    }

    @Test("A long or hostile value is quoted in part and without control characters")
    func boundedMessages() throws {
        let long = String(repeating: "x", count: 100_000)
        for line in [
            "Nice=\(long)", "User=\(long) ", "StandardOutput=\(long)", "\(long)=1", "[\(long)]",
            "ExecStartPre=x/\(long)",
        ] {
            let diagnostic = try #require(try app(in: "App", line).diagnostics.first)
            #expect(diagnostic.message.utf8.count < 300, "\(line.prefix(20))")
            #expect(diagnostic.text.utf8.count < 800, "\(line.prefix(20))")
        }
        let diagnostic = try #require(try app(in: "App", "Nice=\u{202e}\u{9b}31m").diagnostics.first)
        #expect(
            diagnostic.text.unicodeScalars.allSatisfy {
                $0 == "\n" || $0.properties.generalCategory != .control && $0 != "\u{202e}"
            })
    }

    @Test("More errors than anybody reads are counted")
    func manyErrors() throws {
        let app = try app(in: "App", String(repeating: "Nice=x\n", count: 1_000))
        #expect(app.diagnostics.count == 201)
        #expect(app.messages.last == "800 more errors and warnings are not shown")
    }
}
