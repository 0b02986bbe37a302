// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The location of core dumps")
struct CoreTests {
    private func place(
        _ pattern: String, addsProcess: Bool = false, directory: String = "/srv/app"
    ) throws -> (folder: String, name: CoreNamePattern)? {
        guard case .file(let name) = CorePattern(pattern, addsProcess: addsProcess) else { return nil }
        return name.place(process: 4711, user: 1000, directory: directory)
    }

    @Test(
        "A pattern gives a folder and the form of the file's name",
        arguments: [
            ("core", "/srv/app", ["core"], ["core.4711", "cor", "xcore"]),
            ("core.%p", "/srv/app", ["core.4711"], ["core", "core.4712", "core.47110"]),
            ("core.%e.%p", "/srv/app", ["core.photo.4711", "core.a.b.4711", "core..4711"], ["core.photo.4712"]),
            ("/var/crash/%e-%t-%u", "/var/crash", ["x-17-1000", "--1000"], ["x-17-1001", "x-1000"]),
            ("/core.%p", "/", ["core.4711"], ["core"]),
            ("dumps/core%%%p", "/srv/app/dumps", ["core%4711"], ["core4711"]),
            ("/var/%u/core", "/var/1000", ["core"], []),
            ("core%z%p%", "/srv/app", ["core4711"], ["core%4711"]),
            ("%E", "/srv/app", ["!usr!bin!photo"], []),
            ("core.%P.%i", "/srv/app", ["core.4711.4712"], ["core.4712.4712"]),
        ])
    func files(pattern: String, folder: String, matching: [String], others: [String]) throws {
        let place = try #require(try place(pattern))
        #expect(place.folder == folder)
        for name in matching { #expect(place.name.matches(name), "\(name)") }
        for name in others { #expect(!place.name.matches(name), "\(name)") }
    }

    @Test("The process ID is appended unless the pattern contains it")
    func addedProcess() throws {
        #expect(try place("core", addsProcess: true)?.name.matches("core.4711") == true)
        #expect(try place("core", addsProcess: true)?.name.matches("core") == false)
        #expect(try place("core-%p", addsProcess: true)?.name.matches("core-4711") == true)
        #expect(try place("", addsProcess: true)?.name.matches(".4711") == true)
    }

    @Test("A folder whose name cannot be reconstructed is not searched")
    func unknownFolder() throws {
        #expect(try place("/var/crash/%e/core") == nil)
    }

    @Test("Programs and sockets that take cores are distinguished from files")
    func programs() {
        #expect(
            CorePattern("|/usr/lib/systemd/systemd-coredump %P %u", addsProcess: false)
                == .program("/usr/lib/systemd/systemd-coredump"))
        #expect(
            CorePattern("| /usr/share/apport/apport -p%p", addsProcess: true) == .program("/usr/share/apport/apport"))
        #expect(CorePattern("@/run/coredump.socket", addsProcess: false) == .nothing)
        #expect(CorePattern("", addsProcess: false) == .nothing)
    }

    @Test("Only a recent regular file of the process counts; the most recent one comes first")
    func search() throws {
        try withTemporaryDirectory { directory in
            let now = time(nil)
            func write(_ name: String, age: Int = 0) throws {
                let file = try OwnedDescriptor(opening: "\(directory)/\(name)", flags: O_WRONLY | O_CREAT)
                #expect(Glibc.write(file.number, "x", 1) == 1)
                let times = [timespec(), timespec(tv_sec: now - age, tv_nsec: 0)]
                #expect(futimens(file.number, times) == 0)
            }
            try write("core.a.4711", age: 10)
            try write("core.b.4711", age: 5)
            try write("core.old.4711", age: 1_000)
            try write("core.c.4712")
            #expect(mkfifo("\(directory)/core.fifo.4711", 0o600) == 0)
            #expect(mkdir("\(directory)/core.dir.4711", 0o700) == 0)
            #expect(symlink("core.a.4711", "\(directory)/core.link.4711") == 0)
            try write("linked")
            #expect(link("\(directory)/linked", "\(directory)/core.hard.4711") == 0)
            var search = CoreSearch(
                process: 4711, user: geteuid(), launched: Int64(now) - 60,
                directories: [directory, "/nonexistent", directory])
            guard case .file(let name) = CorePattern("core.%e.%p", addsProcess: false) else { return }
            let found = search.candidates(name)
            #expect(found.map(\.path) == ["\(directory)/core.b.4711", "\(directory)/core.a.4711"])
            let first = try #require(found.first)
            #expect(first.remove())
            #expect(!first.remove(), "it is gone")
            // Another file with that name stays.
            try write("core.b.4711")
            #expect(!first.remove())
            #expect(access("\(directory)/core.b.4711", F_OK) == 0)
            search.user = 12_345
            #expect(geteuid() == 0 || search.candidates(name).isEmpty, "another user's")
        }
    }

    @Test("A core is removed only from the folder in which it was found, even if that was moved")
    func replacedFolder() throws {
        try withTemporaryDirectory { directory in
            let paths = ["found", "moved", "other"].map { "\(directory)/\($0)" }
            for path in [paths[0], paths[2]] { #expect(mkdir(path, 0o700) == 0) }
            let file = try OwnedDescriptor(opening: "\(paths[0])/core", flags: O_WRONLY | O_CREAT)
            #expect(Glibc.write(file.number, "x", 1) == 1)
            let search = CoreSearch(
                process: 4711, user: geteuid(), launched: Int64(time(nil)) - 60, directories: [paths[0]])
            guard case .file(let name) = CorePattern("core", addsProcess: false) else { return }
            let found = try #require(search.candidates(name).first)
            // The process's user redirects the path to a folder with another name for the same file.
            #expect(link("\(paths[0])/core", "\(paths[2])/core") == 0)
            #expect(rename(paths[0], paths[1]) == 0)
            #expect(symlink(paths[2], paths[0]) == 0)
            #expect(found.remove())
            #expect(access("\(paths[2])/core", F_OK) == 0)
            #expect(access("\(paths[1])/core", F_OK) != 0)
        }
    }

    @Test("A missing journal has no entry, and the wait for it is limited")
    func noJournal() throws {
        try withTemporaryDirectory { directory in
            let began = Instant.now()
            #expect(
                CoredumpEntry.find(
                    process: 1, user: 0, since: began, within: .milliseconds(250), directory: directory) == nil)
            #expect(Instant.now() - began >= .milliseconds(250))
            #expect(Instant.now() - began < patience)
        }
    }
}
