// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@Suite("Names and specifiers")
struct SpecifierTests {
    private func expanded(_ text: String, name: String) throws -> String? {
        try configuration(in: "App", "Description=\(text)", name: name).program.description
    }

    @Test(
        "Each specifier has the value from systemd.unit(5)",
        arguments: [
            ("%n", "web.app"), ("%N", "web"), ("%p", "web"), ("[%i]", "[]"), ("%j", "web"), ("%h", "/root"),
            ("%t", "/run"),
            ("%S", "/var/lib"), ("%C", "/var/cache"), ("%L", "/var/log"), ("%u", "root"), ("%U", "0"),
            ("%H", "web1.example.org"), ("%l", "web1"), ("%m", "0123456789abcdef0123456789abcdef"),
            ("%b", "fedcba9876543210fedcba9876543210"), ("%v", "6.18.0-1-amd64"), ("%%", "%"),
            ("100%%%n%%n", "100%web.app%n"),
        ])
    func values(text: String, value: String) throws {
        #expect(try expanded(text, name: "web") == value)
    }

    @Test("The parts of an instance's name have specifiers")
    func instances() throws {
        let name = "my-web@dev-sda1"
        #expect(try expanded("%n %N %p %i %j", name: name) == "my-web@dev-sda1.app my-web@dev-sda1 my-web dev-sda1 web")
        #expect(try expanded("%P %I %J", name: name) == "my/web dev/sda1 web")
        #expect(try expanded("%p|%i", name: "web@") == "web|")
        #expect(try expanded("%p|%i", name: "web@a@b") == "web|a@b")
    }

    @Test(
        "An unknown specifier is an error at its place",
        arguments: [
            ("a %f", "3:15: error: Description: unknown specifier %f; write %%f for a literal %f"),
            ("50%", "3:15: error: Description: a lone \"%\"; write %% for a percent sign"),
            ("50% off", "3:15: error: Description: a lone \"%\"; write %% for a percent sign"),
            ("%\u{e4}", "3:13: error: Description: a lone \"%\"; write %% for a percent sign"),
        ])
    func errors(text: String, line: String) throws {
        #expect(try app(in: "App", "Description=\(text)").lines == [line])
    }

    @Test("A value unknown to the caller is an error, not an empty text")
    func unknown() throws {
        let app = try app("[App]\nExecStart=/bin/web %m %t\n", specifiers: Specifiers())
        #expect(
            app.lines == [
                "2:20: error: ExecStart: the value of %m is not known here",
                "2:23: error: ExecStart: the value of %t is not known here",
            ])
    }

    @Test("A value neither splits a word nor opens a quote")
    func valuesAreNotSplit() throws {
        var odd = specifiers
        odd.home = "/home/o'b rien"
        let app = try app("[App]\nExecStart=/bin/web %h/x '%h'\n", specifiers: odd)
        #expect(app.configuration?.program.command.arguments == ["/bin/web", "/home/o'b rien/x", "/home/o'b rien"])
    }

    @Test("A user's daemon has the directories of the XDG specification")
    func userDirectories() {
        let plain = Specifiers.user(home: "/home/ann") { _ in nil }
        #expect(plain.runtimeDirectory == nil)
        #expect(plain.stateDirectory == "/home/ann/.local/state")
        #expect(plain.cacheDirectory == "/home/ann/.cache")
        #expect(plain.logDirectory == "/home/ann/.local/state/log")
        let environment = ["XDG_RUNTIME_DIR": "/run/user/7", "XDG_CACHE_HOME": "relative", "XDG_STATE_HOME": "/s"]
        let set = Specifiers.user(home: "/home/ann") { environment[$0] }
        #expect(set.runtimeDirectory == "/run/user/7")
        #expect(set.cacheDirectory == "/home/ann/.cache")
        #expect(set.logDirectory == "/s/log")
    }

    @Test(
        "Names have letters, digits and -_.@, and at most 64 bytes",
        arguments: ["a", "web-1", "_x.y", "web@8080", "web@", "9"])
    func validNames(text: String) throws {
        #expect(try AppName(text).description == text)
    }

    @Test(
        "Other names are rejected with the reason",
        arguments: [
            ("", "the app has no name"),
            ("a b", #"" " cannot be in an app's name; use letters, digits, "-", "_", "." and "@""#),
            ("wäb", #""ä" cannot be in an app's name; use letters, digits, "-", "_", "." and "@""#),
            ("a/b", #""/" cannot be in an app's name; use letters, digits, "-", "_", "." and "@""#),
            (".web", #"an app's name must begin with a letter, a digit or "_", unlike ".web""#),
            ("-web", #"an app's name must begin with a letter, a digit or "_", unlike "-web""#),
            ("@web", #"an app's name must begin with a letter, a digit or "_", unlike "@web""#),
        ])
    func invalidNames(text: String, reason: String) {
        #expect(throws: AppName.Invalid.self) { try AppName(text) }
        do throws(AppName.Invalid) {
            _ = try AppName(text)
        } catch {
            #expect(error.description == reason)
        }
    }

    @Test("A name of 65 bytes is too long; templates and instances are matched")
    func lengthsAndTemplates() throws {
        #expect(try AppName(String(repeating: "x", count: 64)).prefix.utf8.count == 64)
        #expect(throws: AppName.Invalid.self) { try AppName(String(repeating: "x", count: 65)) }
        #expect(try AppName("web@1").template == AppName("web@"))
        #expect(try AppName("web@").template == nil)
        #expect(try AppName("web").template == nil)
        #expect(try AppName("web@").isTemplate)
        #expect(try !AppName("web@1").isTemplate)
        #expect(try !AppName("web").isTemplate)
    }
}
