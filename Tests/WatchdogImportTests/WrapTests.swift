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

    @Test("The command stays as it is written, specifiers and quotes included")
    func verbatim() throws {
        let wrap = try wrap(
            "ExecStart=/usr/bin/web --name \"%i\" $OPTIONS\nRestart=always", options: ["--probe", "tcp:127.0.0.1:80"])
        #expect(
            command(wrap)
                == "ExecStart=/usr/bin/watchdogd run --name web --reports /var/log/watchdogd-web "
                + "--probe tcp:127.0.0.1:80 -- /usr/bin/web --name \"%i\" $OPTIONS")
        #expect(wrap.text.hasPrefix(UnitWrap.mark))
        #expect(wrap.text.contains("\nExecStart=\nExecStart="))
        #expect(wrap.notes == [])
        #expect(wrap.path == "/etc/systemd/system/web.service.d/50-watchdogd.conf")
    }

    @Test("Readiness and the watchdog keep their meaning")
    func notify() throws {
        let wrap = try wrap("Type=notify\nExecStart=/usr/bin/web\nWatchdogSec=2min 30\nRestart=on-failure")
        #expect(
            command(wrap)?.contains(" --readiness notify --update \"2min 30s\" -- /usr/bin/web") == true, "\(wrap.text)"
        )
        #expect(wrap.notes == ["watchdogd enforces WatchdogSec=2min 30 and answers systemd itself"])
        // An option of one's own comes first.
        let own = try self.wrap("ExecStart=/usr/bin/web\nWatchdogSec=30\nRestart=always", options: ["--update", "5s"])
        #expect(own.text.contains("--update 5s -- "))
        #expect(!own.text.contains("30s"))
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
            ("ExecStart=/usr/bin/watchdogd run -- web", "web.service:4: error: it runs under watchdogd already"),
        ])
    func refusals(setting: String, message: String) throws {
        let found = try #require(refusal("\(setting)\nExecStart=/usr/bin/web"))
        #expect(found.hasPrefix(message), "\(found)")
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

    @Test("A unit that nothing restarts is told so", arguments: ["", "Restart=no", "Restart=on-success"])
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
