// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of systemd units")
struct SystemdTests {
    @Test("systemd's time spans keep their meaning")
    func times() throws {
        for (text, expected) in [
            ("90", "1min 30s"), ("2min 30", "2min 30s"), ("1w", "168h"), ("1.5h", "1h 30min"), ("250ms", "250ms"),
            ("infinity", "1h"), ("0", "1h"), ("100us", nil),
        ] as [(String, String?)] {
            let result = try service("TimeoutStopSec=\(text)")
            let line = result.settings.first { $0.hasPrefix("Terminate=") }
            #expect(line == expected.map { "Terminate=\($0)" }, "\(text)")
            #expect(result.lines.contains { $0.contains("dropped: TimeoutStopSec=\(text)") } == (expected == nil))
        }
    }

    @Test(
        "A watchdog that is turned off sets no allowance", arguments: ["0", "infinity", "0s", "0min", "0 0ms", " 0"])
    func noWatchdog(value: String) throws {
        #expect(!(try service("WatchdogSec=\(value)").settings.contains { $0.hasPrefix("Update=") }))
    }

    @Test("The last line for a time wins, whichever key it uses")
    func laterTimes() throws {
        for (lines, terminate) in [
            ("TimeoutStopSec=5\nTimeoutSec=7", "7s"), ("TimeoutSec=7\nTimeoutStopSec=5", "5s"), ("TimeoutSec=7", "7s"),
            ("TimeoutStopSec=5\nTimeoutStopSec=", "5s"), ("TimeoutStopSec=.5s", "500ms"),
            ("TimeoutStopSec=1.5w", "252h"),
        ] {
            #expect(try service(lines).settings.contains("Terminate=\(terminate)"), "\(lines)")
        }
        let limit = try imported(
            "[Unit]\nStartLimitIntervalSec=infinity\n[Service]\nExecStart=/bin/a\nRestart=always\n", as: "a.service")
        #expect(
            limit.lines.contains { $0.contains("2: changed: StartLimitIntervalSec=infinity became LimitInterval=1h") })
    }

    @Test("A value that systemd does not know is named, and the value from another line stays")
    func refusals() throws {
        for (good, bad, setting) in [
            ("TimeoutStopSec=5", "TimeoutStopSec=5 parsecs", "Terminate=5s"), ("Nice=5", "Nice=nice", "Nice=5"),
            ("TimeoutStopSec=5", "TimeoutStopSec=-1", "Terminate=5s"), ("Nice=5", "Nice=20", "Nice=5"),
            ("OOMScoreAdjust=1", "OOMScoreAdjust=1001", "OOMScoreAdjust=1"), ("UMask=0027", "UMask=9", "UMask=0027"),
            ("Restart=always", "Restart=sometimes", "Policy=always"), ("Type=notify", "Type=loud", "Readiness=notify"),
            ("NoNewPrivileges=yes", "NoNewPrivileges=maybe", "NoNewPrivileges=yes"),
            ("MemoryMax=1G", "MemoryMax=much", "MemoryMax=1G"), ("CPUQuota=20%", "CPUQuota=20", "CPUQuota=20%"),
            ("LimitNOFILE=64", "LimitNOFILE=many", "LimitNOFILE=64"), ("TasksMax=5", "TasksMax=few", "TasksMax=5"),
            ("StandardOutput=null", "StandardOutput=loud", "StandardOutput=null"),
        ] {
            for lines in ["\(good)\n\(bad)", "\(bad)\n\(good)"] {
                let result = try service(lines)
                #expect(result.settings.contains(setting), "\(lines)")
                #expect(result.lines.contains { $0.contains("dropped: \(bad) has a value") }, "\(lines)")
            }
        }
        // One that another line resets is not an error either.
        let reset = try imported(
            "[Service]\nExecStart=bin/a\nExecStart=\nExecStart=/bin/b\nUser=?\nUser=nobody\n", as: "a.service")
        #expect(reset.settings.contains("ExecStart=/bin/b") && reset.settings.contains("User=nobody"))
        #expect(try service("TimeoutStopSec=soon").settings.contains("Terminate=1min 30s"))
    }

    @Test("A key in the wrong section, or without its required value, is named and not converted")
    func ignored() throws {
        let result = try imported(
            """
            [Unit]
            User=nobody
            Nice=5
            [Service]
            ExecStart=/bin/a
            UMask=0027
            UMask=
            Restart=always
            StartLimitIntervalSec=0
            Description=x
            WantedBy=multi-user.target
            [Install]
            Environment=A=1
            """, as: "a.service")
        for key in ["User", "Nice", "Description", "Environment", "Limit"] {
            #expect(!result.settings.contains { $0.hasPrefix(key) }, "\(key)")
        }
        #expect(result.settings.contains("UMask=0027"))
        for line in [
            "2: dropped: User=nobody is in [Unit], where systemd ignores it; it belongs in [Service]",
            "7: dropped: UMask= is empty, which systemd ignores",
            "9: dropped: StartLimitIntervalSec=0 is in [Service], where systemd ignores it; it belongs in [Unit]",
            "10: dropped: Description=x is in [Service]", "11: dropped: WantedBy=multi-user.target is in [Service]",
            "13: dropped: Environment=A=1 is in [Install]",
        ] { #expect(result.lines.contains { $0.hasPrefix("a.service:\(line)") }, "\(line)") }
        #expect(result.settings.contains("Enabled=no"))
        #expect(try service("Restart=sometimes").settings.contains("Policy=never"))
    }

    @Test("A number or a condition is not turned off by 0 or no")
    func zeros() throws {
        for line in ["MemorySwapMax=0", "CPUAffinity=0", "RestartForceExitStatus=0", "AllowedCPUs=0", "MemoryHigh=0"] {
            #expect(try service(line).lines.contains { $0.contains("dropped: \(line) ") }, "\(line)")
        }
        for line in ["PrivateTmp=0", "ProtectHome=no", "LockPersonality=false", "Delegate=no"] {
            #expect(!(try service(line).lines.contains { $0.contains(line) }), "\(line)")
        }
        let condition = try imported("[Unit]\nConditionACPower=no\n[Service]\nExecStart=/bin/a\n", as: "a.service")
        #expect(condition.lines.contains { $0.contains("2: dropped: ConditionACPower=no") })
    }

    @Test("Command prefixes keep their meaning, are named, or make the command rejected")
    func commandPrefixes() throws {
        for (command, line, isNamed) in [
            ("-/bin/a", "-/bin/a", false), ("@/bin/a b", "@/bin/a b", false), (":/bin/a $X", ":/bin/a $X", false),
            ("!/bin/a", "/bin/a", true), ("!!/bin/a", "/bin/a", true), ("+/bin/a", "/bin/a", true),
            ("-!:/bin/a", "-:/bin/a", true),
        ] {
            let result = try imported("[Service]\nExecStart=\(command)\n", as: "a.service")
            #expect(result.settings.first == "ExecStart=\(line)", "\(command)")
            #expect(result.lines.contains { $0.contains("lost its prefix") } == isNamed, "\(command)")
        }
        #expect(
            failure("[Service]\nExecStart=|/bin/a b\n", as: "a.service")?.contains("2: error: ExecStart: only") == true)
        let continued = try imported(
            "[Service]\nExecStart=/bin/a \\\n# comment\n; comment\n  \"b c\" \\\n  d\\x20e\nUser=nobody\n",
            as: "a.service")
        let command = try #require(continued.apps.first?.definition.configuration).program.command
        #expect(command.arguments == ["/bin/a", "b c", "d e"])
        #expect(continued.settings.contains("User=nobody"))
    }

    @Test("Name specifiers use the unit's name, even under another name")
    func renamed() throws {
        let text = "[Service]\nExecStart=/bin/a %n %N %p %i %I %j %%n\nRuntimeDirectory=%p/%n\n"
        let importer = Importer(
            MemoryFileSystem(files: ["/srv/web-app@x-y.service": text]), specifiers: .system, workingDirectory: "/")
        func words(_ name: String?) throws -> [String] {
            let app = try #require(importer.importing("/srv/web-app@x-y.service", name: name).apps.first)
            let program = try #require(app.definition.configuration).program
            return program.command.arguments + program.preparations.flatMap(\.arguments).suffix(1)
        }
        let expected = [
            "/bin/a", "web-app@x-y.service", "web-app@x-y", "web-app", "x-y", "x/y", "app", "%n",
            "/run/web-app/web-app@x-y.service",
        ]
        #expect(try words("other") == expected)
        #expect(try words(nil) == expected)
    }

    private func unit(
        _ path: String, _ files: [String: String], links: [String: String], name: String? = nil
    ) throws -> ImportResult {
        try Importer(MemoryFileSystem(files: files, links: links), specifiers: .system, workingDirectory: "/")
            .importing(path, name: name)
    }

    private static let system = "/usr/lib/systemd/system"
    private static let local = "/etc/systemd/system"

    @Test("Drop-ins of an alias apply if a link makes it one, and a unit that replaces another is named")
    func aliases() throws {
        let text = "[Service]\nExecStart=/bin/a\n[Install]\nAlias=b.service c.service\n"
        let path = "\(Self.system)/a.service"
        let files = [
            path: text, "\(Self.local)/b.service.d/1.conf": "[Service]\nNice=3\n",
            "\(Self.local)/c.service.d/2.conf": "[Service]\nUMask=0077\n",
            "\(Self.local)/d.service.d/3.conf": "[Service]\nOOMScoreAdjust=5\n",
        ]
        let links = ["\(Self.local)/b.service": path, "\(Self.local)/d.service": "\(Self.local)/b.service"]
        let settings = try unit(path, files, links: links).settings
        #expect(settings.contains("Nice=3") && settings.contains("OOMScoreAdjust=5"))
        #expect(!settings.contains("UMask=0077"))
        let other = "\(Self.local)/a.service"
        func notes(_ files: [String: String], _ links: [String: String]) throws -> [String] {
            try unit(path, files, links: links).notes.map(\.message)
        }
        #expect(try notes(files.merging([other: text]) { $1 }, [:]).contains { $0.contains("reads \(other) instead") })
        #expect(try notes(files, [other: "/dev/null"]).contains { $0.contains("because \(other) masks it") })
        // systemd's name for it, from any of the links.
        let wanted = "\(Self.local)/multi-user.target.wants/a.service"
        for (link, target, isNamed) in [
            ("\(Self.local)/b.service", path, true),
            ("\(Self.local)/b.service", "../../../usr/lib/systemd/system/a.service", true),
            (wanted, path, false), (wanted, "../gone.service", false),
        ] {
            let result = try unit(link, files, links: [link: target])
            #expect(result.apps.first?.name.description == "a", "\(link) to \(target)")
            #expect(result.notes.contains { $0.message.hasPrefix("b.service is another name of a.service") } == isNamed)
        }
        let named = try unit("\(Self.local)/b.service", files, links: links, name: "c")
        #expect(named.apps.first?.name.description == "c")
    }

    @Test("A link from elsewhere, or from an instance to its template, has its own name")
    func ownLinks() throws {
        let files = [
            "/opt/a.service": "[Service]\nExecStart=/bin/a\n",
            "\(Self.system)/b@.service": "[Service]\nExecStart=/bin/b %i\n",
            "\(Self.local)/b@1.service.d/1.conf": "[Service]\nNice=3\n",
        ]
        let linked = try unit(
            "\(Self.local)/c.service", files, links: ["\(Self.local)/c.service": "/opt/a.service"])
        #expect(linked.apps.first?.name.description == "c")
        for folder in [Self.local, "\(Self.local)/multi-user.target.wants"] {
            let instance = try unit(
                "\(folder)/b@1.service", files, links: ["\(folder)/b@1.service": "\(Self.system)/b@.service"])
            #expect(instance.apps.first?.name.description == "b@1", "\(folder)")
            #expect(instance.settings.contains("Nice=3"), "\(folder)")
        }
        let link = "\(Self.local)/other@1.service"
        let alias = try unit(link, files, links: [link: "\(Self.system)/b@.service"])
        #expect(alias.apps.first?.name.description == "b@1" && alias.settings.contains("Nice=3"))
    }

    @Test("A drop-in that is a link to /dev/null hides others with its name, and such a unit is masked")
    func masks() throws {
        let path = "\(Self.system)/a.service"
        let files = [
            path: "[Service]\nExecStart=/bin/a\n", "\(path).d/1.conf": "[Service]\nNice=3\n",
            "\(path).d/2.conf": "[Service]\nUMask=0077\n",
        ]
        let masked = try unit(path, files, links: ["\(Self.local)/a.service.d/1.conf": "/dev/null"])
        #expect(masked.settings.contains("UMask=0077") && !masked.settings.contains { $0.hasPrefix("Nice=") })
        let local = "\(Self.local)/a.service"
        for links in [
            [local: "/dev/null"], [local: "\(Self.local)/b.service", "\(Self.local)/b.service": "/dev/null"],
        ] {
            #expect {
                try unit(local, files, links: links)
            } throws: { error in
                (error as? ImportError)?.message.hasPrefix("the unit is masked by a link to /dev/null") == true
            }
        }
        #expect {
            try unit(local, files, links: [local: "\(Self.local)/b.service", "\(Self.local)/b.service": local])
        } throws: { error in
            (error as? ImportError)?.message == "the links never end"
        }
    }

    @Test("Each restart policy becomes the nearest one, with a note unless it is the same")
    func policies() throws {
        for (theirs, ours, isSame) in [
            ("no", "never", true), ("always", "always", true), ("on-failure", "on-failure", true),
            ("on-watchdog", "on-watchdog", true), ("on-success", "always", false), ("on-abort", "on-failure", false),
        ] {
            let result = try service("Restart=\(theirs)")
            #expect(result.settings.contains("Policy=\(ours)"))
            #expect(result.lines.contains { $0.contains("Restart=\(theirs) became") } != isSame)
        }
    }

    @Test("A start limit that is turned off allows any number of restarts")
    func limits() throws {
        let off = try service("Restart=always\nStartLimitInterval=0\nStartLimitBurst=3")
        #expect(off.settings.contains("Limit=infinity"))
        #expect(!off.settings.contains { $0.hasPrefix("AtLimit=") })
        let on = try service("Restart=always\nStartLimitBurst=3")
        #expect(on.settings.suffix(3) == ["Limit=3", "LimitInterval=10s", "AtLimit=stop"])
    }

    @Test("An empty value resets a list and restores a default")
    func resets() throws {
        let result = try imported(
            "[Service]\nExecStart=/bin/a\nEnvironment=A=1\nNice=5\n[Install]\nWantedBy=multi-user.target\n",
            as: "a.service",
            others: [
                "/srv/a.service.d/1.conf": "[Service]\nExecStart=\nExecStart=/bin/b\nEnvironment=\nNice=\n",
                "/srv/a.service.d/2.other": "[Service]\nExecStart=/bin/c\n",
            ])
        #expect(result.settings.contains("ExecStart=/bin/b"))
        #expect(!result.settings.contains { $0.hasPrefix("Nice=") || $0.hasPrefix("Environment=") })
    }

    @Test("Drop-ins of the template and of the instance apply in the order of their names")
    func instances() throws {
        let result = try imported(
            "[Service]\nExecStart=/bin/a %i\n", as: "a@1.service",
            others: [
                "/srv/a@.service.d/1.conf": "[Service]\nNice=1\nUMask=0077\n",
                "/srv/a@1.service.d/2.conf": "[Service]\nNice=2\n",
            ])
        #expect(result.apps.first?.name.description == "a@1")
        #expect(result.settings.contains("Nice=2"))
        #expect(result.settings.contains("UMask=0077"))
    }

    @Test("Drop-ins for a prefix and for all services apply, the most specific among equal names")
    func prefixes() throws {
        let others = [
            "/srv/service.d/05.conf": "[Service]\nUMask=0077\n",
            "/srv/service.d/40.conf": "[Service]\nOOMScoreAdjust=1\n",
            "/srv/app-.service.d/10.conf": "[Service]\nUser=svc\nNice=5\n",
            "/srv/app-.service.d/40.conf": "[Service]\nOOMScoreAdjust=2\n",
            "/srv/app-web-.service.d/40.conf": "[Service]\nOOMScoreAdjust=3\n",
            "/srv/app-web-@.service.d/50.conf": "[Service]\nLimitNOFILE=5\n",
            "/srv/app-web-blue.service.d/20.conf": "[Service]\nNice=7\n",
            "/srv/app-web-blue@.service.d/20.conf": "[Service]\nNice=9\n",
            "/srv/app-web.service.d/60.conf": "[Service]\nUser=nobody\n",
            "/srv/web-.service.d/60.conf": "[Service]\nUser=nobody\n",
        ]
        for (name, lines) in [
            ("app-web-blue.service", ["User=svc", "UMask=0077", "Nice=7", "OOMScoreAdjust=3"]),
            // The prefix of an instance has its instance too.
            ("app-web-blue@1.service", ["UMask=0077", "Nice=9", "OOMScoreAdjust=1", "LimitNOFILE=5"]),
        ] {
            let result = try imported("[Service]\nExecStart=/bin/a\n", as: name, others: others)
            let keys = ["User=", "UMask=", "Nice=", "OOMScoreAdjust=", "LimitNOFILE="]
            #expect(result.settings.filter { line in keys.contains { line.hasPrefix($0) } } == lines, "\(name)")
        }
    }

    @Test("An administrator's drop-in applies to a unit of the distribution")
    func systemFolders() throws {
        let files = [
            "/usr/lib/systemd/system/a.service": "[Service]\nExecStart=/bin/a\n",
            "/usr/lib/systemd/system/a.service.d/1.conf": "[Service]\nNice=1\n",
            "/etc/systemd/system/a.service.d/1.conf": "[Service]\nNice=3\n",
        ]
        let importer = Importer(MemoryFileSystem(files: files), specifiers: .system, workingDirectory: "/")
        let result = try importer.importing("/usr/lib/systemd/system/a.service")
        #expect(result.settings.contains("Nice=3"))
    }

    @Test("A command that cannot be converted is an error at its line, and so is a second command")
    func commands() {
        #expect(
            failure("[Service]\nExecStart=bin/a\n", as: "a.service")?.hasPrefix("a.service:2: error: ExecStart: ")
                == true)
        #expect(
            failure("[Service]\nExecStart=/bin/a $1\n", as: "a.service")
                == "a.service:2: error: ExecStart: \"$1\" is not a variable; write $$ for a dollar sign")
        #expect(
            failure("[Service]\nExecStart=/bin/a\nExecStart=/bin/b\n", as: "a.service")?.hasPrefix(
                "a.service:3: error: ")
                == true)
        #expect(failure("[Unit]\nDescription=a\n", as: "a.service")?.contains("no ExecStart=") == true)
    }

    @Test("A unit that runs once is skipped, and requirements of a program are left for later")
    func kinds() throws {
        let once = try service("Type=oneshot")
        #expect(once.apps.isEmpty)
        #expect(once.lines.first?.hasPrefix("web.service:3: skipped: Type=oneshot") == true)
        for line in ["DynamicUser=yes", "Sockets=web.socket", "RootDirectory=/srv/root", "Type=forking"] {
            let result = try service(line)
            #expect(result.notes.first?.kind == .toDo, "\(line)")
            #expect(result.settings.contains("Enabled=no"), "\(line)")
        }
        #expect(try service("DynamicUser=no").notes.allSatisfy { $0.kind != .toDo })
    }

    @Test("Settings that match watchdogd's default are not named as lost")
    func defaults() throws {
        let result = try service(
            "Restart=no\nTimeoutStopSec=5s\nKillSignal=SIGTERM\nKillMode=mixed\nSendSIGKILL=yes\nPrivateTmp=no\nStandardInput=null"
        )
        #expect(result.lines == [])
        let lost = try service(
            "Restart=no\nTimeoutStopSec=5s\nKillSignal=SIGINT\nKillMode=none\nSendSIGKILL=no\nPrivateTmp=yes")
        #expect(lost.notes.count(where: { $0.kind == .dropped }) == 4)
    }

    @Test("No bytes of a unit make it fail without an error")
    func hostile() {
        for text in [
            "", "\0", "[Service", "[Service]\n=", "x", "[Service]\nExecStart=\u{1b}[31m/bin/a\n",
            "[Service]\nExecStart=\"/bin/a\n",
        ] {
            let message = failure(text, as: "a.service")
            #expect(message?.hasPrefix("a.service") == true, "\(text)")
            #expect(message?.contains("\u{1b}") == false)
        }
        #expect(failure("[Service]\nExecStart=/bin/a", as: "a b.service")?.contains("--name") == true)
    }
}
