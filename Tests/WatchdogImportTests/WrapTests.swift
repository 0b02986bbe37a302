// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@testable import WatchdogImport

@Suite("Drop-ins that run a unit under watchdogd")
struct WrapTests {
    private func wrap(
        _ service: String, unit: String = "web.service", hasSocket: Bool = false, options: [String] = []
    ) throws -> UnitWrap {
        var wrapOptions = UnitWrap.Options()
        wrapOptions.words = options
        let file = ConfigurationFile(path: unit, text: "[Unit]\nDescription=x\n[Service]\n\(service)\n")
        return try UnitWrap(unit, [file], hasSocket: hasSocket, wrapOptions)
    }

    private func command(_ wrap: UnitWrap) -> String? {
        wrap.text.split(separator: "\n").last { $0.hasPrefix("ExecStart=/") || $0.hasPrefix("ExecStart=-") }.map(
            String.init)
    }

    private func refusal(_ service: String, hasSocket: Bool = false) -> String? {
        do {
            _ = try wrap(service, hasSocket: hasSocket)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("The command stays unchanged, including specifiers and quotes")
    func verbatim() throws {
        let wrap = try wrap(
            "ExecStart=/usr/bin/web --name \"%i\" $OPTIONS\nRestart=always", options: ["--probe", "tcp:127.0.0.1:80"])
        #expect(
            command(wrap)
                == "ExecStart=/usr/bin/watchdogd run --name web --reports /var/log/watchdogd-web "
                + "--terminate \"1min 30s\" --probe tcp:127.0.0.1:80 -- /usr/bin/web --name \"%i\" $OPTIONS")
        #expect(wrap.text.hasPrefix(UnitWrap.mark))
        #expect(wrap.text.contains("\nExecStart=\nExecStart="))
        #expect(wrap.text.hasSuffix("\nTimeoutStopSec=1min 40s\n"))
        #expect(wrap.notes == [])
        #expect(wrap.path == "/etc/systemd/system/web.service.d/50-watchdogd.conf")
    }

    @Test("Options reach the program unchanged, however systemd reads the line")
    func quoting() throws {
        func option(_ word: String, prefix: String = "") throws -> String {
            let wrap = try wrap("ExecStart=\(prefix)/bin/a\nRestart=always", options: ["--on-incident", word])
            #expect(wrap.text.split(separator: "\n").filter { $0.hasPrefix("ExecStart=") }.count == 2)
            let line = try #require(wrap.text.split(separator: "\n").last { $0.hasPrefix("ExecStart=") })
            let begin = try #require(line.firstRange(of: "--on-incident "))
            return String(line[begin.upperBound...].dropLast(" -- /bin/a".count))
        }
        #expect(try option("logger") == "logger")
        #expect(try option("a\nExecStartPre=/bin/false") == #""a\nExecStartPre=/bin/false""#)
        #expect(try option(#"echo $APP 5% "x" \"#) == #""echo $$APP 5%% \"x\" \\""#)
        #expect(try option("echo $APP", prefix: ":") == #""echo $APP""#)
        #expect(try option("") == #""""#)
        #expect(try option("\u{1b}") == #""\x1b""#)
    }

    @Test("Readiness and the watchdog keep their meaning")
    func notify() throws {
        let wrap = try wrap("Type=notify\nExecStart=/usr/bin/web\nWatchdogSec=2min 30\nRestart=on-failure")
        #expect(
            command(wrap)?.contains(
                " --readiness notify --launch \"1min 30s\" --terminate \"1min 30s\" --update \"2min 30s\" -- /usr/bin/web"
            ) == true, "\(wrap.text)"
        )
        #expect(wrap.notes == ["watchdogd enforces WatchdogSec=2min 30 and answers systemd itself"])
        // An option of one's own comes first.
        let own = try self.wrap("ExecStart=/usr/bin/web\nWatchdogSec=30\nRestart=always", options: ["--update", "5s"])
        #expect(own.text.contains("--update 5s -- "))
        #expect(!own.text.contains("--update \"30s\""))
    }

    @Test("Time limits of the unit become those of watchdogd, and systemd waits a little longer")
    func times() throws {
        let both = try wrap("Type=notify\nTimeoutStartSec=3min\nTimeoutStopSec=7\nExecStart=/bin/a\nRestart=always")
        #expect(command(both)?.contains(" --launch \"3min\" --terminate \"7s\" -- ") == true, "\(both.text)")
        #expect(both.text.hasSuffix("\nTimeoutStartSec=3min 10s\nTimeoutStopSec=17s\n"))
        let common = try wrap("TimeoutSec=infinity\nExecStart=/bin/a\nRestart=always")
        #expect(command(common)?.contains(" --terminate \"1h\" -- ") == true, "\(common.text)")
        let own = try wrap("TimeoutStopSec=7\nExecStart=/bin/a\nRestart=always", options: ["--terminate", "1s"])
        #expect(!own.text.contains("TimeoutStopSec=1"))
    }

    @Test(
        "Policies that follow signals restart after a kill by watchdogd, too",
        arguments: [("on-abnormal", true), ("on-abort", true), ("on-failure", false), ("always", false)])
    func signalPolicies(policy: String, isForced: Bool) throws {
        let wrap = try wrap("ExecStart=/bin/a\nRestart=\(policy)")
        #expect(wrap.text.contains("\nRestartForceExitStatus=132 133 134 135 136 137 139 ") == isForced)
        #expect(wrap.notes == [])
    }

    @Test("Special prefixes move to the front of the line, except the one that renames the program")
    func prefixes() throws {
        #expect(
            try command(wrap("ExecStart=-/usr/bin/web\nRestart=always"))?.hasPrefix(
                "ExecStart=-/usr/bin/watchdogd run ") == true)
        #expect(
            refusal("ExecStart=@/usr/bin/web webd")?.contains("the prefix @ gives the program another name") == true)
    }

    @Test(
        "What cannot keep its meaning is refused with its line",
        arguments: [
            ("Type=forking", "web.service:4: error: Type=forking: watchdogd run ends when the first process does"),
            ("Type=oneshot", "web.service:4: error: Type=oneshot"),
            ("Type=dbus", "web.service:4: error: Type=dbus"),
            ("PIDFile=/run/x.pid", "web.service:4: error: PIDFile="),
            ("Sockets=x.socket", "web.service:4: error: Sockets="),
            ("RootDirectory=/srv", "web.service:4: error: RootDirectory="),
            ("KillMode=process", "web.service:4: error: KillMode=process"),
            ("KillSignal=SIGQUIT", "web.service:4: error: KillSignal=SIGQUIT: watchdogd run asks"),
            ("FileDescriptorStoreMax=16", "web.service:4: error: FileDescriptorStoreMax="),
            ("SuccessExitStatus=7 SIGUSR1", "web.service:4: error: SuccessExitStatus= with a signal"),
            ("RestartPreventExitStatus=SIGABRT", "web.service:4: error: RestartPreventExitStatus= with a signal"),
            ("ExecStart=/usr/bin/watchdogd run -- web", "web.service:4: error: the unit already runs under watchdogd"),
        ])
    func refusals(setting: String, message: String) throws {
        let found = try #require(refusal("\(setting)\nExecStart=/usr/bin/web"))
        #expect(found.hasPrefix(message), "\(found)")
    }

    @Test(
        "What is as watchdogd run has it, or only numbers, is kept",
        arguments: ["KillSignal=SIGTERM", "KillSignal=15", "FileDescriptorStoreMax=0", "SuccessExitStatus=7 42"])
    func harmless(setting: String) throws {
        let text = try wrap("ExecStart=/usr/bin/web\n\(setting)").text
        // Signals after which systemd counts an end as clean: systemd.service(5), "SuccessExitStatus=".
        #expect(text.contains("\nSuccessExitStatus=129 130 141 143\n"))
    }

    @Test("No command, several, and a socket are refused")
    func commands() throws {
        #expect(refusal("Restart=always")?.contains("it has no ExecStart=") == true)
        #expect(
            refusal("ExecStart=/bin/a\nExecStart=/bin/b")?.contains("web.service:5: error: it has several ExecStart=")
                == true)
        #expect(refusal("ExecStart=/bin/a\nExecStart=\nExecStart=/bin/b") == nil)
        #expect(refusal("ExecStart=/bin/a", hasSocket: true)?.contains("a socket starts it") == true)
    }

    @Test("A unit that nothing restarts gets a note", arguments: ["", "Restart=no", "Restart=on-success"])
    func restarts(setting: String) throws {
        let notes = try wrap("ExecStart=/bin/a\n\(setting)").notes
        #expect(
            notes.count == 1 && notes[0].hasSuffix("a hang ends the service, and nothing starts it again"), "\(notes)")
    }

    @Test("The difference shows added, removed and kept lines")
    func difference() {
        #expect(UnitWrap.difference(from: nil, to: "a\nb\n") == "+a\n+b\n")
        #expect(UnitWrap.difference(from: "a\nb\n", to: nil) == "-a\n-b\n")
        #expect(UnitWrap.difference(from: "a\nb\nc\n", to: "a\nx\nc\n") == " a\n-b\n+x\n c\n")
        #expect(UnitWrap.difference(from: "a\n", to: "a\n") == " a\n")
    }
}
