// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@testable import WatchdogImport

@Suite("Imported apps that nothing watches for hangs")
struct AdviceTests {
    private func app(_ text: String, as name: String) throws -> ImportedApp {
        try #require(try imported(text, as: name).apps.first)
    }

    @Test("have a probe as a comment in their section, and a line about it")
    func supervisord() throws {
        let app = try app("[program:cache]\ncommand=/usr/bin/redis-server --port 7801\n", as: "supervisord.conf")
        #expect(app.text.contains("\n[Watchdog]\n# Only a program that uses a client library or sends WATCHDOG=1 is"))
        #expect(app.text.contains("\n#Probe=tcp:127.0.0.1:7801\n"))
        #expect(app.hangAdvice == "cache.app: nothing watches cache for hangs; set Probe=tcp:127.0.0.1:7801")
        #expect(app.definition.configuration?.watchdog.probe == nil, "a guess is not active")
        // The file is as valid as before, with one section of each name.
        let file = ConfigurationFile(path: app.fileName, text: app.text)
        let definition = AppDefinition(name: app.name, files: [file], specifiers: .system)
        #expect(definition.diagnostics == app.definition.diagnostics)
        #expect(app.text.split(separator: "\n").count { $0 == "[Watchdog]" } == 1)
    }

    @Test("have a valid probe once the comment mark is removed")
    func active() throws {
        let app = try app("[program:cache]\ncommand=/usr/bin/redis-server\n", as: "supervisord.conf")
        let text = app.text.replacing("#Probe=", with: "Probe=")
        let definition = AppDefinition(
            name: app.name, files: [ConfigurationFile(path: app.fileName, text: text)], specifiers: .system)
        #expect(definition.configuration?.watchdog.probe?.target.description == "tcp:127.0.0.1:6379")
    }

    @Test("list the kinds of probes if their address is unknown")
    func unknown() throws {
        let app = try app("[Service]\nExecStart=/bin/web\nRestart=always\n", as: "web.service")
        #expect(app.text.contains("\n#Probe=tcp:ADDR\n"))
        #expect(app.hangAdvice?.hasSuffix("set Probe=tcp:ADDR, Probe=http://ADDR/PATH or Probe=exec:CMD") == true)
    }

    @Test("exclude apps with a health check, and apps that push")
    func watched() throws {
        let compose = "services:\n  web:\n    command: [/bin/web]\n    healthcheck:\n      test: [CMD, /bin/check]\n"
        let checked = try app(compose, as: "compose.yml")
        #expect(checked.hangAdvice == nil && checked.text.contains("\nProbe=exec:"))
        let pushing = try app(
            "[Service]\nType=notify\nExecStart=/bin/web\nWatchdogSec=30s\nRestart=always\n", as: "web.service")
        #expect(pushing.hangAdvice == nil && !pushing.text.contains("#Probe="))
        let silent = try app("[Service]\nType=notify\nExecStart=/bin/web\nRestart=always\n", as: "web.service")
        #expect(silent.hangAdvice != nil)
    }
}
