// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogConfiguration

@Suite("Keys")
struct KeyTests {
    private func program(_ lines: String) throws -> ProgramSettings { try configuration(in: "App", lines).program }
    private func watchdog(_ lines: String) throws -> WatchdogSettings {
        try configuration(in: "Watchdog", lines).watchdog
    }
    private func restart(_ lines: String) throws -> RestartSettings { try configuration(in: "Restart", lines).restart }

    @Test("common values of two apps share storage, and stay unchanged")
    func sharing() throws {
        var first = AppConfiguration(name: try AppName("web"), command: Command(program: "/bin/web", arguments: []))
        first.watchdog.timeScale = 2
        let before = AppConfiguration(name: try AppName("db"), command: Command(program: "/bin/db", arguments: []))
        let second = before.sharing(with: first)
        #expect(second == before && before.sharing(with: nil) == before)
        #expect(!before.$restart.isSameCopy(as: first.$restart))
        #expect(second.$restart.isSameCopy(as: first.$restart))
        #expect(!second.$watchdog.isSameCopy(as: first.$watchdog))
    }

    @Test(
        "A wrong key suggests what other tools call so, the nearest key, or the one that it is about",
        arguments: [
            ("ProbeFailures", "ProbeThreshold"), ("ProbeRetries", "ProbeThreshold"),
            ("healthcheck.interval", "ProbeInterval"),
            ("HealthCheck", "Probe"), ("livenessProbe", "Probe"), ("failureThreshold", "ProbeThreshold"),
            ("ProbeURL", "Probe"), ("ProbeColor", "Probe"), ("ProbeTresholt", "ProbeThreshold"),
            ("stop_grace_period", "Terminate"), ("stopwaitsecs", "Terminate"), ("startsecs", "Launch"),
            ("Heartbeat", "Update"), ("Ping_Interval", "Ping"), ("autorestart", "[Restart] Policy"),
            ("MaxRestarts", "[Restart] Limit"), ("command", "[App] ExecStart"), ("cwd", "[App] WorkingDirectory"),
            ("stdout_logfile", "[App] StandardOutput"), ("env_file", "[App] EnvironmentFile"),
        ])
    func suggestions(_ written: String, _ meant: String) throws {
        let lines = try app(in: "Watchdog", "\(written)=3").lines
        #expect(lines == ["4:1: error: unknown key \"\(written)\" in [Watchdog]; did you mean \"\(meant)\"?"])
    }

    @Test("A key that is like nothing has no suggestion, and what other tools have is said")
    func noSuggestion() throws {
        #expect(try app(in: "Watchdog", "Nonsense=3").lines == ["4:1: error: unknown key \"Nonsense\" in [Watchdog]"])
        let reason = "OnIncident= in [Watchdog] runs a shell command instead of a unit"
        let failure = try app(in: "App", "OnFailure=mail.service").messages
        #expect(failure == ["OnFailure= has no counterpart: \(reason)"])
    }

    @Test("No word of other tools is the name of a key, or belongs to two keys")
    func otherNames() {
        for key in ConfigurationKey.allCases {
            #expect(OtherName.key(for: key.rawValue).map { $0 == key } ?? true, "\(key.rawValue)")
        }
        #expect(Set(OtherName.all).count == OtherName.all.count)
    }

    @Test("Without settings an app has the documented defaults")
    func defaults() throws {
        let app = try configuration(in: "App", "")
        #expect(
            app
                == AppConfiguration(
                    name: try AppName("web"), command: Command(program: "/bin/web", arguments: ["/bin/web"])))
        #expect(app.isEnabled)
        #expect(app.program.fileModeMask == 0o022)
        #expect(app.program.standardOutput == .journal && app.program.standardError == .inherit)
        #expect(
            app.watchdog.allowances == Allowances(launch: .seconds(20), update: .seconds(10), terminate: .seconds(5)))
        #expect(app.watchdog.readiness == .automatic && app.watchdog.probe == nil && app.watchdog.enforcement == .kill)
        #expect(app.restart.policy == .onFailure && app.restart.limit == .count(10))
        var spec = AppSpec(name: "web")
        spec.observationDelay = .seconds(1)
        spec.hangReportThreshold = .seconds(1)
        spec.crashReports = .all
        #expect(app.spec == spec)
        #expect(!app.watchdog.takesCrashStacks)
    }

    @Test(
        "Booleans are parsed",
        arguments: [
            ("1", true), ("yes", true), ("y", true), ("true", true), ("t", true), ("on", true), ("YES", true),
            ("0", false),
            ("no", false), ("n", false), ("false", false), ("f", false), ("off", false), ("Off", false),
        ])
    func booleans(word: String, value: Bool) throws {
        #expect(try program("NoNewPrivileges=\(word)").noNewPrivileges == value)
        #expect(try configuration(in: "App", "Enabled=\(word)").isEnabled == value)
        #expect(try watchdog("AllowBlindExtension=\(word)").allowsBlindExtension == value)
    }

    @Test("Crash settings select the exits with reports, and stacks")
    func crashes() throws {
        #expect(try watchdog("CrashReports=all").crashReports == .all)
        #expect(try watchdog("CrashReports=signals").crashReports == .signals)
        #expect(try watchdog("CrashReports=off").crashReports == nil)
        #expect(try watchdog("CrashStacks=yes").takesCrashStacks)
        let hook = try #require(try watchdog("OnIncident=mail %N 50%% \"$X\"").incidentHook)
        #expect(hook.command == "mail web 50% \"$X\"")
        #expect(hook.files == ["web.app"])
        #expect(hook.timeout == .seconds(30) && !hook.includesHangs)
        let patient = try watchdog("OnIncidentTimeout=2min\nOnIncidentFor=all\nOnIncident=true").incidentHook
        #expect(patient?.timeout == .seconds(120) && patient?.includesHangs == true)
        #expect(try configuration(in: "Watchdog", "CrashReports=off").spec.crashReports == nil)
    }

    @Test("The setting for reports in the journal needs no new process")
    func reportsInJournal() throws {
        #expect(try watchdog("").reportsInJournal)
        #expect(try !watchdog("ReportsInJournal=no").reportsInJournal)
        #expect(try watchdog("ReportsInJournal=no\nReportsInJournal=").reportsInJournal)
        let app = try configuration(in: "Watchdog", "")
        #expect(app.allowsProcess(of: try configuration(in: "Watchdog", "ReportsInJournal=no")))
    }

    @Test("The setting for kept stacks needs no new process")
    func keepStacks() throws {
        #expect(try !watchdog("").keepsStacks)
        #expect(try watchdog("KeepStacks=yes").keepsStacks)
        #expect(try !watchdog("KeepStacks=yes\nKeepStacks=").keepsStacks)
        let app = try configuration(in: "Watchdog", "")
        #expect(app.allowsProcess(of: try configuration(in: "Watchdog", "KeepStacks=yes")))
    }

    @Test("Users, groups and directories are set")
    func whoAndWhere() throws {
        let one = try program("User=www-data\nGroup=adm\nSupplementaryGroups=a 1000\nWorkingDirectory=/srv/%p")
        #expect(one.user == "www-data" && one.group == "adm")
        #expect(one.supplementaryGroups == ["a", "1000"])
        #expect(one.workingDirectory == WorkingDirectory(.path("/srv/web")))
        #expect(
            try program("User=33\nWorkingDirectory=-~").workingDirectory == WorkingDirectory(.home, isOptional: true))
        #expect(try program("WorkingDirectory=-/x").workingDirectory == WorkingDirectory(.path("/x"), isOptional: true))
        #expect(try configuration(in: "App", "User=%i", name: "web@ann").program.user == "ann")
    }

    @Test("The reload allowance is scaled like the others")
    func reload() throws {
        #expect(try configuration(in: "Watchdog", "").reloadAllowance == .seconds(20))
        #expect(try configuration(in: "Watchdog", "Reload=3s\nTimeScale=0.5").reloadAllowance == .milliseconds(1_500))
    }

    @Test("The lifecycle's allowances are scaled like the others")
    func lifecycle() throws {
        let settings = try watchdog(
            """
            EnterBackground=1s
            Background=10s
            Expiration=2s
            SuspendAfter=off
            TaskWarning=3s
            TaskLimit=7
            BackgroundCPU=4s
            LaunchInBackground=yes
            BackgroundLaunch=20s
            BackgroundLaunchCPU=1500ms
            """)
        var expected = LifecycleAllowances()
        expected.enterBackground = .seconds(1)
        expected.background = .seconds(10)
        expected.expiration = .seconds(2)
        expected.idle = nil
        expected.taskWarning = .seconds(3)
        expected.taskLimit = 7
        expected.backgroundCPUTime = .seconds(4)
        expected.launchesInBackground = true
        expected.backgroundLaunch = .seconds(20)
        expected.launchCPUTime = .milliseconds(1_500)
        #expect(settings.lifecycle == expected)
        #expect(try watchdog("SuspendAfter=2s\nBackgroundCPU=infinity").lifecycle.idle == .seconds(2))
        let scaled = try configuration(in: "Watchdog", "Background=10s\nExpiration=2s\nTimeScale=0.5").spec.lifecycle
        #expect(scaled.background == .seconds(5) && scaled.expiration == .seconds(1))
        #expect(scaled.enterBackground == .milliseconds(2_500))
        // A shorter stay shortens the default too.
        #expect(try watchdog("Background=3s").lifecycle.expiration == .seconds(3))
        #expect(
            try app(in: "Watchdog", "Background=3s\nExpiration=4s").lines == [
                "5:1: error: Expiration: longer than Background=, which it is part of: 3 s"
            ])
        #expect(
            try app(in: "Watchdog", "LaunchInBackground=yes\nLaunch=3s").lines == [
                "5:1: warning: Launch: no effect, because of LaunchInBackground=yes; BackgroundLaunch= applies instead"
            ])
    }

    @Test("The process's own properties are set")
    func process() throws {
        #expect(try program("UMask=0077").fileModeMask == 0o077)
        #expect(try program("UMask=27").fileModeMask == 0o027)
        #expect(try program("Nice=-20").niceness == -20)
        #expect(try program("Nice=+5").niceness == 5)
        #expect(try program("OOMScoreAdjust=-1000").oomScoreAdjustment == -1000)
        #expect(try program("Description=The web, %H").description == "The web, web1.example.org")
        #expect(try program("Version=2.3-%i").version == program("Description=2.3-%i").description)
        #expect(try program("Nice=1").version == nil)
    }

    @Test(
        "Outputs are parsed",
        arguments: [
            ("journal", OutputTarget.journal), ("inherit", .inherit), ("null", .null),
            ("file:/var/log/%p", .file(path: "/var/log/web")),
            ("append:/a b", .append(path: "/a b")), ("truncate:/x", .truncate(path: "/x")),
        ])
    func outputs(word: String, target: OutputTarget) throws {
        #expect(try program("StandardOutput=\(word)").standardOutput == target)
        #expect(try program("StandardError=\(word)").standardError == target)
    }

    @Test("Environment variables and their files are set")
    func environment() throws {
        let one = try program(
            #"""
            Environment="VAR1=word1 word2" VAR2=word3 "VAR3=$word 5 6"
            Environment=VAR2=again EMPTY= "TAB=a\tb" HOST=%l
            EnvironmentFile=/etc/default/%p
            EnvironmentFile=-/etc/web/*.env
            """#)
        #expect(
            one.environment.map { "\($0.name)=\($0.value)" } == [
                "VAR1=word1 word2", "VAR2=again", "VAR3=$word 5 6", "EMPTY=", "TAB=a\tb", "HOST=web1",
            ])
        #expect(
            one.environmentFiles == [
                EnvironmentFile(pattern: "/etc/default/web", isOptional: false),
                EnvironmentFile(pattern: "/etc/web/*.env", isOptional: true),
            ])
        let own = try app(in: "App", "Environment=NOTIFY_SOCKET=/x")
        #expect(
            own.lines == ["3:13: warning: Environment: watchdogd sets NOTIFY_SOCKET itself; this has no effect"])
    }

    /// Values and their meaning in systemd 252.
    static let limits: [(setting: String, soft: UInt64, hard: UInt64)] = [
        ("LimitCPU=30s", 30, 30), ("LimitCPU=1min:2min", 60, 120), ("LimitCPU=1500ms", 2, 2),
        ("LimitFSIZE=1G", 1 << 30, 1 << 30), ("LimitDATA=1.5K", 1536, 1536), ("LimitSTACK=8M:infinity", 8 << 20, .max),
        ("LimitCORE=0", 0, 0), ("LimitRSS=2T", 2 << 40, 2 << 40), ("LimitNOFILE=1024:524288", 1024, 524_288),
        ("LimitAS=infinity", .max, .max), ("LimitNPROC=512", 512, 512), ("LimitMEMLOCK=64K", 65_536, 65_536),
        ("LimitLOCKS=7", 7, 7), ("LimitSIGPENDING=100", 100, 100), ("LimitMSGQUEUE=800K", 819_200, 819_200),
        ("LimitNICE=+5", 15, 15), ("LimitNICE=-5", 25, 25), ("LimitNICE=0", 0, 0), ("LimitNICE=40", 40, 40),
        ("LimitNICE=+19:-20", 1, 40), ("LimitRTPRIO=99", 99, 99), ("LimitRTTIME=200ms", 200_000, 200_000),
        ("LimitRTTIME=1us", 1, 1),
    ]

    @Test("Limits are parsed", arguments: limits)
    func limit(setting: String, soft: UInt64, hard: UInt64) throws {
        let resource = LimitedResource(rawValue: String(setting.dropFirst(5).prefix { $0 != "=" }))
        #expect(try program(setting).limits == [ProcessLimit(try #require(resource), soft: soft, hard: hard)])
    }

    @Test("All sixteen limits have a key, and are kept in one order")
    func allLimits() throws {
        let keys = ConfigurationKey.allCases.compactMap(\.limitedResource)
        #expect(keys == LimitedResource.allCases)
        #expect(keys.count == 16)
        let both = try program("LimitRTPRIO=1\nLimitCPU=1s")
        #expect(both.limits.map(\.resource) == [.cpu, .realTimePriority])
        #expect(try program("LimitCPU=1s\nLimitCPU=").limits == [])
    }

    @Test("Cgroup limits are set")
    func cgroups() throws {
        #expect(try program("CPUQuota=50%").cpuQuota == .milliseconds(500))
        #expect(try program("CPUQuota=250%").cpuQuota == .milliseconds(2_500))
        #expect(try program("CPUQuota=12.5%").cpuQuota == .milliseconds(125))
        #expect(try program("MemoryMax=512M").memoryMaximum == .absolute(512 << 20))
        #expect(try program("MemoryMax=12.34%").memoryMaximum == .share(hundredthsOfPercent: 1_234))
        #expect(try program("MemoryMax=infinity").memoryMaximum == nil)
        #expect(try program("TasksMax=64").tasksMaximum == .absolute(64))
        #expect(try program("TasksMax=100%").tasksMaximum == .share(hundredthsOfPercent: 10_000))
        #expect(ResourceAmount.absolute(7).resolved(of: 100) == 7)
        #expect(ResourceAmount.share(hundredthsOfPercent: 5_000).resolved(of: .max) == UInt64.max / 2)
        #expect(ResourceAmount.share(hundredthsOfPercent: 10_000).resolved(of: .max) == UInt64.max)
    }

    @Test("Allowances and all other settings of [Watchdog] reach the policy")
    func watchdogSettings() throws {
        let app = try configuration(
            in: "Watchdog",
            """
            Launch=1min 30s
            Update=2500ms
            Terminate=8s
            Ping=500ms
            Readiness=notify
            Enforce=report
            ExtensionCap=1h
            AllowBlindExtension=yes
            KeepReports=30d
            TimeScale=2
            """)
        let settings = app.watchdog
        #expect(
            settings.allowances
                == Allowances(launch: .seconds(90), update: .milliseconds(2_500), terminate: .seconds(8)))
        #expect(settings.reportAge == .seconds(30 * 86_400))
        let spec = app.spec
        #expect(spec.name == "web")
        #expect(spec.allowances == Allowances(launch: .seconds(180), update: .seconds(5), terminate: .seconds(16)))
        #expect(spec.pingInterval == .seconds(1))
        #expect(spec.readiness == .notify)
        #expect(spec.enforcement == .report)
        #expect(spec.fairness.extensionCap == .seconds(3_600))
        #expect(spec.fairness.allowsBlindExtension)
    }

    @Test(
        "Readiness is parsed",
        arguments: [
            ("auto", ReadinessSetting.automatic), ("channel", .channel), ("notify", .notify), ("none", .none),
            ("listen:8080", .listening(.tcp(.any, port: 8080))),
            ("listen:/run/%p.sock", .listening(.unix(path: "/run/web.sock"))),
            ("exec:curl -f $URL | grep ok", .command("curl -f $URL | grep ok")),
        ])
    func readiness(text: String, setting: ReadinessSetting) throws {
        #expect(try watchdog("Readiness=\(text)").readiness == setting)
    }

    @Test("The interval of readiness probes depends on their kind")
    func readinessLooks() throws {
        #expect(try configuration(in: "Watchdog", "Readiness=listen:80").spec.probeInterval == .milliseconds(25))
        #expect(try configuration(in: "Watchdog", "Readiness=exec:true").spec.probeInterval == .milliseconds(250))
        let probed = try configuration(in: "Watchdog", "Readiness=probe\nProbe=tcp:80\nProbeInterval=100ms")
        #expect(probed.spec.readiness == .probe)
        #expect(probed.spec.probeInterval == .milliseconds(100))
    }

    @Test("Probes are parsed")
    func probes() throws {
        #expect(try watchdog("Probe=tcp:6379").probe?.target == .connect(.tcp(.loopback, port: 6379)))
        #expect(
            try watchdog("Probe=tcp:[::1]:80").probe?.target
                == .connect(.tcp(.v6([UInt8](repeating: 0, count: 15) + [1]), port: 80)))
        #expect(try watchdog("Probe=unix:@name").probe?.target == .connect(.abstract(name: "name")))
        #expect(try watchdog("Probe=exec:redis-cli ping").probe?.target == .command("redis-cli ping"))
        let plain = try #require(try watchdog("Probe=tcp:80").probe)
        #expect(plain.probe == LivenessProbe(of: "tcp:localhost:80"))
        #expect(plain.interval == .seconds(3) && plain.timeout == .seconds(3) && plain.threshold == 3)

        let all = try watchdog(
            "ProbeBody=all is well\nProbeStatus=200, 204-206\nProbeThreshold=5\nProbeTimeout=1s\nProbeInterval=10s\n"
                + "Probe=http://localhost:8080/health?x=%%20")
        let probe = try #require(all.probe)
        #expect(probe.interval == .seconds(10) && probe.timeout == .seconds(1) && probe.threshold == 5)
        let request = HTTPProbe(
            address: .tcp(.loopback, port: 8080), authority: "localhost:8080", path: "/health?x=%20",
            statuses: [200...200, 204...206],
            body: "all is well")
        #expect(probe.target == .http(request))
    }

    @Test(
        "Addresses of HTTP probes are parsed",
        arguments: [
            ("127.0.0.1", "/", "127.0.0.1:80"), ("localhost:8080", "/", "localhost:8080"),
            ("[::1]/x", "/x", "[::1]:80"),
            ("[::1]:81", "/", "[::1]:81"), ("localhost?q", "/?q", "localhost:80"),
        ])
    func httpAddresses(text: String, path: String, address: String) throws {
        guard case .http(let request)? = try watchdog("Probe=http://\(text)").probe?.target else {
            Issue.record("no request")
            return
        }
        #expect(request.path == path)
        #expect(request.address.description == address)
        #expect(request.statuses == [200...399])
    }

    @Test(
        "A probe's target is printed as it was written",
        arguments: [
            "tcp:127.0.0.1:6379", "tcp:[::1]:80", "unix:/run/app.sock", "unix:@name", "http://localhost:8080/a?b",
            "exec:redis-cli ping",
        ])
    func targets(text: String) throws {
        #expect(try watchdog("Probe=\(text)").probe?.target.description == text)
        #expect(try ProbeSettings(parsing: text).target.description == text)
    }

    @Test("A long command is truncated for display")
    func longTarget() throws {
        let settings = try ProbeSettings(parsing: "exec:" + String(repeating: "x", count: 1_000))
        #expect(settings.target.description.count == 120)
        #expect(settings.target.description.hasSuffix("x..."))
    }

    @Test("Restart settings are parsed")
    func restarts() throws {
        let settings = try restart(
            """
            Policy=always
            Delay=0s
            Factor=1.5
            MaxDelay=5min
            Reset=30s
            Limit=infinity
            LimitInterval=1h
            LimitLaunch=3
            LimitHang=infinity
            LimitCrash=5
            LimitExit=6
            LimitMemory=2
            AtLimit=stop
            """)
        #expect(settings.policy == .always && settings.delay == .zero && settings.factor == 1.5)
        #expect(settings.maximumDelay == .seconds(300) && settings.healthyTime == .seconds(30))
        #expect(settings.limit == .infinity && settings.limitInterval == .seconds(3_600))
        #expect(
            settings.causeLimits == [
                .launch: .count(3), .hang: .infinity, .crash: .count(5), .exit: .count(6), .memory: .count(2),
            ])
        #expect(settings.consequence == .stop)
        for policy in RestartSettings.Policy.allCases {
            #expect(try restart("Policy=\(policy.rawValue)").policy == policy)
        }
        #expect(Set(ConfigurationKey.allCases.compactMap(\.limitedCause)) == Set(RestartSettings.Cause.allCases))
    }

    @Test(
        "Every key is accepted in its own section, and rejected with its place in any other",
        arguments: ConfigurationKey.allCases
    )
    func places(key: ConfigurationKey) throws {
        for section in ConfigurationSection.allCases {
            let app = try app(in: section.rawValue, "\(key.rawValue)=")
            let misplaced = app.messages.filter { $0 == "\(key.rawValue)= belongs in [\(key.section.rawValue)]" }
            #expect(misplaced.count == (section == key.section ? 0 : 1), "\(section)")
        }
    }
}
