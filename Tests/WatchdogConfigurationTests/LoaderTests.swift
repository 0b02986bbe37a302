// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration

@Suite("Loading")
struct LoaderTests {
    /// Files by path; nil for one that cannot be read.
    private struct Files: ConfigurationFileSystem {
        var files: [String: String?]

        func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
            guard let file = files[path] else {
                throw ConfigurationReadError(isMissing: true, "cannot open \(path): No such file or directory (ENOENT)")
            }
            guard let file else {
                throw ConfigurationReadError(isMissing: false, "cannot open \(path): Permission denied (EACCES)")
            }
            return Array(file.utf8.prefix(limit))
        }

        func names(in directory: String) throws(ConfigurationReadError) -> [String] {
            let prefix = directory == "." ? "" : directory.hasSuffix("/") ? directory : directory + "/"
            let inside = files.keys.filter { $0.hasPrefix(prefix) }
            guard !inside.isEmpty else { throw ConfigurationReadError(isMissing: true, "cannot list \(directory)") }
            guard !inside.contains(prefix + "forbidden") else {
                throw ConfigurationReadError(isMissing: false, "cannot list \(directory): Permission denied (EACCES)")
            }
            // In random order, but the same in every run.
            var generator = SeededGenerator(seed: 1)
            return Set(inside.map { String($0.dropFirst(prefix.count).prefix { $0 != "/" }) })
                .sorted().shuffled(using: &generator)
        }
    }

    private let valid = "[App]\nExecStart=/bin/web\n"

    private func loader(_ files: [String: String?]) -> ConfigurationLoader<Files> {
        ConfigurationLoader(Files(files: files), specifiers: specifiers)
    }

    @Test("Every app in a directory is loaded with its drop-ins in the order of their names; all else is ignored")
    func directory() throws {
        let listing = try loader([
            "/d/web.app": valid, "/d/web.app.d/20-b.conf": "[App]\nNice=2\n",
            "/d/web.app.d/10-a.conf": "[App]\nNice=1\n",
            "/d/web.app.d/notes.txt": "no", "/d/web.app.d/.hidden.conf": "no", "/d/api.app": valid, "/d/.x.app": "no",
            "/d/web.app.bak": "no",
            "/d/README": "no",
        ]).load(directory: "/d/")
        #expect(listing.apps.map(\.name.description) == ["api", "web"])
        #expect(
            listing.apps.map(\.files) == [
                ["/d/api.app"], ["/d/web.app", "/d/web.app.d/10-a.conf", "/d/web.app.d/20-b.conf"],
            ])
        #expect(listing.apps.last?.configuration?.program.niceness == 2)
        #expect(listing.diagnostics == [])
    }

    @Test("A folder of drop-ins stands for its app, or for the instance of a template; without one it is an error")
    func dropIns() throws {
        let files = [
            "/d/web.app": valid, "/d/web.app.d/10.conf": "[App]\nNice=1\n", "/d/job@.app": valid,
            "/d/job@1.app.d/10.conf": "[App]\nNice=2\n", "/d/wbe.app.d/10.conf": "", "/d/api.app": "[App]\n",
        ]
        func load(_ path: String) throws -> ConfigurationListing? { try loader(files).load(dropIns: path) }
        for path in ["/d/web.app.d", "/d/web.app.d/"] {
            let web = try #require(try load(path))
            #expect(web.apps.map(\.files) == [["/d/web.app", "/d/web.app.d/10.conf"]])
            #expect(web.diagnostics == [])
        }
        #expect(try load("/d/job@1.app.d")?.apps.map(\.files) == [["/d/job@.app", "/d/job@1.app.d/10.conf"]])
        #expect(
            try load("/d/wbe.app.d")?.diagnostics.map(\.description) == [
                "/d/wbe.app.d: error: there is no wbe.app for these drop-ins; did you mean \"web.app.d\"?"
            ])
        #expect(try load("/d/.app.d")?.diagnostics.map(\.severity) == [.error])
        #expect(try load("/d") == nil)
    }

    @Test("A directory with nothing to check is a warning, and not valid")
    func nothing() {
        var report = CheckReport()
        report.add(ConfigurationListing(), ofDirectory: "/d")
        #expect(
            report.text
                == "/d: warning: nothing was checked: there is no NAME.app in this directory\n"
                + "0 apps checked: 1 warning\n")
    }

    @Test("A broken file never affects the others")
    func brokenFiles() throws {
        let listing = try loader([
            "/d/a.app": valid, "/d/b.app": nil, "/d/c.app": "[App]\n", "/d/d.app": valid,
            "/d/d.app.d/x.conf": nil,
            "/d/e f.app": valid, "/d/g.app": valid, "/d/g.app.d/forbidden": "", "/d/.app": "x",
            "/d/gg.app.d/x.conf": "",
        ]).load(directory: "/d")
        #expect(
            listing.apps.map { "\($0.name) \($0.configuration != nil)" } == [
                "a true", "b false", "c false", "d false", "g false",
            ])
        #expect(
            listing.apps.flatMap(\.diagnostics).map(\.description) == [
                "/d/b.app: error: cannot open /d/b.app: Permission denied (EACCES)",
                "/d/c.app:1:1: error: ExecStart= is missing in [App]: the program to run",
                "/d/d.app.d/x.conf: error: cannot open /d/d.app.d/x.conf: Permission denied (EACCES)",
                "/d/g.app.d: error: cannot list /d/g.app.d: Permission denied (EACCES)",
            ])
        #expect(
            listing.diagnostics.map(\.description) == [
                #"/d/e f.app: error: " " cannot be in an app's name; use letters, digits, "-", "_", "." and "@""#,
                #"/d/gg.app.d: warning: there is no gg.app for these drop-ins; did you mean "g.app.d"?"#,
            ])
    }

    @Test("An instance has the drop-ins of its template and its own, which take precedence")
    func instances() throws {
        let listing = try loader([
            "/d/web@.app": valid, "/d/web@1.app": valid,
            "/d/web@.app.d/10.conf": "[App]\nDescription=template\nNice=1\n",
            "/d/web@.app.d/20.conf": "[App]\nNice=2\n", "/d/web@1.app.d/20.conf": "[App]\nDescription=%i\n",
        ]).load(directory: "/d")
        #expect(listing.apps.map(\.name.isTemplate) == [true, false])
        #expect(listing.apps.map { $0.configuration?.program.description } == ["template", "1"])
        #expect(listing.apps.map { $0.configuration?.program.niceness } == [2, 1])
        #expect(listing.apps.last?.files == ["/d/web@1.app", "/d/web@.app.d/10.conf", "/d/web@1.app.d/20.conf"])
    }

    @Test(
        "A single file is loaded from any place, with the drop-ins beside it",
        arguments: ["", "dir/", "/", "/etc/a.app.d/../"])
    func single(prefix: String) throws {
        let listing = try loader([
            "\(prefix)web.app": valid, "\(prefix)web.app.d/x.conf": "[App]\nNice=1\n",
        ]).load(file: "\(prefix)web.app")
        #expect(listing.apps.map(\.files) == [["\(prefix)web.app", "\(prefix)web.app.d/x.conf"]])
        #expect(listing.apps.first?.configuration?.program.niceness == 1)
    }

    @Test("A file that does not belong to an app is reported as such")
    func otherFiles() throws {
        let files: [String: String?] = ["web.conf": "", "web.service": "", "w b.app": ""]
        func message(_ path: String) throws -> [String] {
            try loader(files).load(file: path).diagnostics.map(\.message)
        }
        #expect(
            try message("web.conf") == ["the file of an app ends in .app; a drop-in is checked together with its app"])
        #expect(try message("web.service") == ["the file of an app ends in .app"])
        #expect(try message("w b.app").count == 1)
        #expect(throws: ConfigurationReadError.self) { try loader(files).load(file: "x.app") }
        #expect(throws: ConfigurationReadError.self) { try loader(files).load(directory: "/x") }
    }

    @Test("The report has a summary")
    func report() throws {
        var report = CheckReport()
        #expect(report.text == "0 apps checked\n")
        report.add(try loader(["web.app": valid]).load(file: "web.app"))
        #expect(report.text == "1 app checked: all valid\n")
        report.add(try loader(["a.app": valid + "Nice=1\nNice=2\n"]).load(file: "a.app"))
        #expect(report.isValid)
        #expect(report.text.hasSuffix("2 apps checked: all valid, 1 warning\n"))
        report.add(try loader(["b.app": "[App]\nNice=x\nFoo=y"]).load(file: "b.app"))
        #expect(!report.isValid)
        #expect(report.text.hasSuffix("3 apps checked: 1 invalid, 3 errors, 1 warning\n"))
        var other = CheckReport()
        other.add(ConfigurationReadError(isMissing: true, "cannot open x"), of: "x")
        #expect(other.text == "x: error: cannot open x\n0 apps checked: 1 error\n")
    }
}
