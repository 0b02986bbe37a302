// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogReportStore

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Paths partly controlled by an app's user", .reapsChildren)
struct GuardedPathTests {
    /// A folder that the app's user owns, and one in which that user may create nothing.
    private struct Places {
        let home: String
        let outside: String
    }

    private func withPlaces(_ body: (Places) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            chmod(directory, 0o755)
            let places = Places(home: "\(directory)/home", outside: "\(directory)/outside")
            for path in [places.home, places.outside, "\(places.home)/logs"] {
                try #require(mkdir(path, 0o755) == 0)
            }
            chmod(places.home, 0o777)
            chmod("\(places.home)/logs", 0o777)
            try body(places)
        }
    }

    private func write(_ text: String, to path: String) throws {
        let file = try OwnedDescriptor(opening: path, flags: O_WRONLY | O_CREAT, mode: 0o600)
        try #require(Glibc.write(file.number, text, text.utf8.count) == text.utf8.count)
    }

    private func names(in directory: String) throws -> [String] { try HostFileSystem().names(in: directory) }

    private func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : -1
    }

    @Test("A folder replaced by a link is rejected, and nothing is created at the link's target")
    func replacedFolder() throws {
        for target in [OutputTarget.append(path:), OutputTarget.file(path:), OutputTarget.truncate(path:)] {
            try withPlaces { try replaceFolder($0, target) }
        }
    }

    private func replaceFolder(_ places: Places, _ target: (String) -> OutputTarget) throws {
        #expect(try target("\(places.home)/logs/out").open(fileModeMask: 0o022) != nil)
        #expect(rename("\(places.home)/logs", "\(places.home)/aside") == 0)
        #expect(symlink(places.outside, "\(places.home)/logs") == 0)
        let path = "\(places.home)/logs/out"
        let error = #expect(throws: LinuxError.self) { try target(path).open(fileModeMask: 0o022) }
        #expect(
            error?.description == "cannot open \(path), where logs is a link that others than root can change: use "
                + "the path without links, or let only root own and write the link's folder: "
                + "Too many levels of symbolic links (ELOOP)")
        #expect(try names(in: places.outside) == [])
    }

    @Test("A link in a folder that nobody else can write to is followed, whatever its target")
    func trustedLink() throws {
        try withPlaces { places throws in
            let link = "\(places.outside)/link"
            #expect(symlink("../home/logs", link) == 0)
            #expect(try OutputTarget.append(path: "\(link)/out").open(fileModeMask: 0o022) != nil)
            #expect(try names(in: "\(places.home)/logs") == ["out"])
            // Beyond it, links belong to the user again.
            #expect(symlink("\(places.outside)/new", "\(places.home)/logs/late") == 0)
            #expect(throws: LinuxError.self) {
                try OutputTarget.append(path: "\(link)/late").open(fileModeMask: 0o022)
            }
            #expect(try names(in: places.outside) == ["link"])
            // A loop of two links ends.
            #expect(symlink("two", "\(places.outside)/one") == 0)
            #expect(symlink("one", "\(places.outside)/two") == 0)
            let error = #expect(throws: LinuxError.self) { try GuardedPath("\(places.outside)/one") }
            #expect(error?.errno == .tooManyLinks)
        }
    }

    @Test("The parent of a folder that its user can move is not resolved")
    func parents() throws {
        try withPlaces { places throws in
            let moved = "\(places.home)/logs/../out"
            #expect(throws: LinuxError.self) { try OutputTarget.append(path: moved).open(fileModeMask: 0o022) }
            #expect(try names(in: places.home) == ["logs"])
            #expect(try OutputTarget.append(path: "\(places.outside)/../out").open(fileModeMask: 0o022) != nil)
        }
    }

    @Test("A hard link in a foreign folder is neither written, truncated nor read")
    func hardLink() throws {
        try withPlaces { places throws in
            try write("secret", to: "\(places.outside)/file")
            let path = "\(places.home)/hard"
            #expect(link("\(places.outside)/file", path) == 0)
            let error = #expect(throws: LinuxError.self) {
                try OutputTarget.truncate(path: path).open(fileModeMask: 0o022)
            }
            #expect(error?.description.hasPrefix("cannot open \(path), which has further names") == true)
            #expect(size(path) == 6)
            #expect(throws: ConfigurationReadError.self) {
                try HostFileSystem().guardedContents(of: path, limit: 100)
            }
            #expect(try OutputTarget.truncate(path: "\(places.outside)/file").open(fileModeMask: 0o022) != nil)
            #expect(size(path) == 0)
        }
    }

    @Test("Watchdogd's own standard output can be opened by name")
    func standardOutput() throws {
        #expect(try OutputTarget.append(path: "/proc/self/fd/1").open(fileModeMask: 0o022) != nil)
    }

    @Test("An EnvironmentFile behind a link of the app's user fails the launch; without the link it works")
    func environmentFile() throws {
        try withPlaces { places throws in
            try write("SECRET=1", to: "\(places.outside)/secret")
            #expect(symlink("\(places.outside)/secret", "\(places.home)/vars") == 0)
            func launch(_ path: String) throws -> Environment {
                let file = ConfigurationFile(
                    path: "/x/app.app",
                    contents: Array("[App]\nExecStart=/bin/true\nEnvironmentFile=\(path)\n".utf8))
                let app = AppDefinition(name: try AppName("app"), files: [file], specifiers: .host)
                return try LaunchConfiguration(
                    #require(app.configuration), scope: .system, store: ReportStore(directory: "/nowhere")
                ).environment
            }
            #expect(try launch("\(places.outside)/secret")["SECRET"] == "1")
            let error = #expect(throws: LaunchRefusal.self) { try launch("\(places.home)/vars") }
            #expect(error?.description.contains("\(places.home)/vars, a link that others than root can change") == true)
        }
    }

    @Test("`check` names paths that a launch would reject")
    func warnings() throws {
        try withPlaces { places throws in
            #expect(symlink(places.outside, "\(places.home)/link") == 0)
            let text = """
                [App]
                ExecStart=/bin/true
                EnvironmentFile=\(places.home)/link/*
                StandardOutput=append:\(places.home)/link/out
                StandardError=append:\(places.outside)/out

                """
            try write("", to: "\(places.outside)/vars")
            let file = ConfigurationFile(path: "/x/app.app", contents: Array(text.utf8))
            let app = AppDefinition(name: try AppName("app"), files: [file], specifiers: .host)
            let warnings = app.pathWarnings.map(\.description)
            #expect(warnings.count == 2, "\(warnings)")
            #expect(
                warnings.contains { $0.contains("StandardOutput: a launch fails: cannot open \(places.home)/link/out") }
            )
            #expect(warnings.contains { $0.contains("EnvironmentFile: a launch fails: ") })
        }
    }

    /// The configuration that root's daemon would read from a folder of apps.
    private func load(_ folder: String) throws -> ConfigurationListing {
        try ConfigurationLoader(HostFileSystem.ofDaemon, specifiers: .host).load(directory: folder)
    }

    private func errors(_ listing: ConfigurationListing) -> [String] {
        listing.allDiagnostics.filter { $0.severity == .error }.map(\.description)
    }

    /// Siblings: the folder of apps itself and the folders above it, a file of root's in a foreign folder, a template's
    /// drop-ins, links to any of these, other names of a file, an access control list (it appears in the group's bits).
    @Test("Root's daemon runs nothing from a file that others could have written, renamed or placed there")
    func configuration() throws {
        guard geteuid() == 0 else { return print("skipped: only root's daemon has more rights than others") }
        try withPlaces { places throws in
            let apps = "\(places.outside)/apps"
            let dropIns = "\(apps)/web.app.d"
            for path in [apps, dropIns] { try #require(mkdir(path, 0o755) == 0) }
            try write("[App]\nExecStart=/bin/true\n", to: "\(apps)/web.app")
            try write("[Watchdog]\nOnIncident=/bin/true\n", to: "\(dropIns)/1.conf")
            #expect(errors(try load(apps)) == [])

            func expectRefusal(_ path: String, _ words: String, _ change: () -> Int32, undo: () -> Int32) throws {
                #expect(change() == 0)
                let found = errors(try load(apps))
                #expect(found.count == 1 && found[0].contains("cannot trust \(path), which \(words)"), "\(found)")
                #expect(undo() == 0)
                #expect(errors(try load(apps)) == [])
            }
            for path in [dropIns, "\(dropIns)/1.conf", "\(apps)/web.app"] {
                try expectRefusal(path, "user 65534 owns", { chown(path, 65_534, 0) }, undo: { chown(path, 0, 0) })
                let mode: mode_t = path == dropIns ? 0o755 : 0o644
                try expectRefusal(
                    path, "others can write", { chmod(path, mode | 0o002) }, undo: { chmod(path, mode) })
                try expectRefusal(
                    path, "others can write", { chown(path, 0, 65_534) | chmod(path, mode | 0o020) },
                    undo: { chown(path, 0, 0) })
                #expect(chmod(path, mode) == 0)
            }
            // The folder itself: its owner, and users who may rename it.
            #expect(chown(apps, 65_534, 0) == 0)
            #expect(throws: ConfigurationReadError.self) { try load(apps) }
            #expect(chown(apps, 0, 0) == 0)
            #expect(rename(apps, "\(places.home)/apps") == 0)
            let error = #expect(throws: ConfigurationReadError.self) { try load("\(places.home)/apps") }
            #expect(error?.description.contains("which others can replace") == true)
            #expect(rename("\(places.home)/apps", apps) == 0)
            // Links owned by root are followed.
            #expect(rename("\(dropIns)/1.conf", "\(places.outside)/shared") == 0)
            #expect(symlink("\(places.outside)/shared", "\(dropIns)/1.conf") == 0)
            #expect(errors(try load(apps)) == [])
            // Links owned by others are not.
            #expect(lchown("\(dropIns)/1.conf", 65_534, 0) == 0)
            #expect(errors(try load(apps)).count == 1)
        }
    }

    @Test(
        "A user who owns a folder of drop-ins and swaps files and links in a loop cannot make root run anything, in 200 loads"
    )
    func configurationRace() throws {
        guard geteuid() == 0 else { return print("skipped: only root can launch an attacker with another user") }
        try withPlaces { places throws in
            let apps = "\(places.outside)/apps"
            let dropIns = "\(apps)/web.app.d"
            for path in [apps, dropIns] { try #require(mkdir(path, 0o755) == 0) }
            try write("[App]\nExecStart=/bin/true\n", to: "\(apps)/web.app")
            // A file of root's that is not meant as a drop-in.
            try write("[Watchdog]\nOnIncident=/bin/true\n", to: "\(places.outside)/other")
            #expect(chown(dropIns, 65_534, 65_534) == 0)
            let script = """
                import ctypes, os, sys
                os.chdir(sys.argv[1])
                open("1.conf", "w").close()
                os.symlink(sys.argv[2], "link")
                exchange = ctypes.CDLL(None).renameat2
                while True: exchange(-100, b"link", -100, b"1.conf", 2)
                """
            var request = SpawnRequest(
                executable: "/usr/bin/python3",
                arguments: ["python3", "-c", script, dropIns, "\(places.outside)/other"].map { ByteString($0) })
            request.credentials = Credentials(user: 65_534, group: 65_534)
            let attacker = try spawn(request).process
            defer { attacker.killAndReap() }
            #expect(eventually { access("\(dropIns)/link", F_OK) == 0 })
            for _ in 0..<200 {
                let listing = try load(apps)
                #expect(errors(listing).count == 1 && listing.valid.isEmpty)
            }
        }
    }

    @Test("A user who swaps a folder and a link in a loop causes no file elsewhere, in 200 launches")
    func race() throws {
        guard geteuid() == 0 else { return print("skipped: only root can launch an attacker with another user") }
        try withPlaces { places throws in
            let nobody = Credentials(user: 65_534, group: 65_534)
            for path in [places.home, "\(places.home)/logs"] {
                #expect(chmod(path, 0o755) == 0)
                #expect(chown(path, nobody.user, nobody.group) == 0)
            }
            let script = """
                import ctypes, os, sys
                os.chdir(sys.argv[1])
                os.symlink(sys.argv[2], "link")
                exchange = ctypes.CDLL(None).renameat2
                while True: exchange(-100, b"link", -100, b"logs", 2)
                """
            var request = SpawnRequest(
                executable: "/usr/bin/python3",
                arguments: ["python3", "-c", script, places.home, places.outside]
                    .map { ByteString($0) })
            request.credentials = nobody
            let attacker = try spawn(request).process
            defer { attacker.killAndReap() }
            let plan = OutputPlan(output: .append(path: "\(places.home)/logs/out"), error: .inherit)
            var (launches, opened, refused) = (0, 0, 0)
            let end = Instant.now() + patience
            while launches < 200 || opened == 0 || refused == 0, Instant.now() < end {
                launches += 1
                do {
                    let streams = try StandardStreams(opening: plan, identifier: "app")
                    opened += 1
                    var request = SpawnRequest(executable: "/bin/echo", arguments: ["echo", "x"])
                    request.descriptors = streams.passed
                    let process = try withExtendedLifetime(streams) { try spawn(request).process }
                    defer { process.killAndReap() }
                    #expect(eventually { process.hasExited })
                    #expect(try process.waitExit()?.status == .exited(code: 0))
                } catch let error as LinuxError {
                    #expect(error.errno == .tooManyLinks)
                    refused += 1
                }
            }
            #expect(launches >= 200 && opened > 0 && refused > 0)
            #expect(try names(in: places.outside) == [])
        }
    }
}
