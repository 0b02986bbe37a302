// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of systemd units")
struct SystemdTests {
    @Test("Time spans of systemd keep their meaning")
    func times() throws {
        for (text, expected) in [
            ("90", "1min 30s"), ("2min 30", "2min 30s"), ("1w", "168h"), ("1.5h", "1h 30min"), ("250ms", "250ms"),
            ("infinity", "1h"), ("0", "1h"), ("100us", nil), ("5 parsecs", nil), ("-1", nil),
        ] as [(String, String?)] {
            let result = try service("TimeoutStopSec=\(text)")
            let line = result.settings.first { $0.hasPrefix("Terminate=") }
            #expect(line == expected.map { "Terminate=\($0)" }, "\(text)")
            #expect(result.lines.contains { $0.contains("dropped: TimeoutStopSec=\(text)") } == (expected == nil))
        }
    }

    @Test("A watchdog that is switched off sets no allowance", arguments: ["0", "infinity"])
    func noWatchdog(value: String) throws {
        #expect(!(try service("WatchdogSec=\(value)").settings.contains { $0.hasPrefix("Update=") }))
    }

    @Test("Each restart policy becomes the nearest, and says so unless it is the same")
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

    @Test("A start limit that is switched off allows any number of restarts")
    func limits() throws {
        let off = try service("Restart=always\nStartLimitIntervalSec=0\nStartLimitBurst=3")
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

    @Test("A drop-in of an administrator applies to a unit of the distribution")
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

    @Test("A command that cannot be taken over is an error at its line; a second command too")
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

    @Test("What runs once is skipped, and what a program cannot run without is left to do")
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

    @Test("What watchdogd does anyway is not named as lost")
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
