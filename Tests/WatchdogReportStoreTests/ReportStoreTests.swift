// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogReport
@testable import WatchdogReportStore

@Suite("Store")
struct ReportStoreTests {
    private func report(number: Int = 1, app: String = "HangMain", seconds: Int64 = 0) -> Report {
        var facts = Samples.facts(number: number)
        facts.appName = app
        facts.captureTime.seconds += seconds
        return Report(of: facts, on: Samples.host, capture: nil)
    }

    private func failure(_ body: () throws -> Void) -> ReportStoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? ReportStoreError
        }
    }

    // MARK: Deleting

    @Test("A report is deleted, and a missing one is not an error")
    func delete() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: "\(folder)/reports")
            try store.prepare()
            _ = try store.write(report())
            let stored = try #require(try store.list().first)
            try store.delete(stored)
            #expect(try store.list().isEmpty)
            try store.delete(stored)
        }
    }

    @Test("A folder that its owner swaps for a link, or a file that changed, is not touched")
    func deleteElsewhere() throws {
        try TestFiles.withFolder { folder in
            let (store, other) = (ReportStore(directory: "\(folder)/own"), ReportStore(directory: "\(folder)/other"))
            for store in [store, other] {
                try store.prepare()
                _ = try store.write(report())
            }
            let stored = try #require(try store.list().first)
            #expect(rename("\(folder)/own", "\(folder)/moved") == 0)
            #expect(symlink("\(folder)/other", "\(folder)/own") == 0)
            #expect(failure { try store.delete(stored) }?.operation == "open")
            #expect(try other.list().count == 1)
            unlink("\(folder)/own")
            #expect(rename("\(folder)/moved", "\(folder)/own") == 0)
            try TestFiles.write([1, 2, 3], to: stored.path)
            #expect(failure { try store.delete(stored) }?.reason == "it changed after it was listed")
            #expect(TestFiles.names(in: store.directory) == [stored.name])
        }
    }

    // MARK: Preparing

    @Test("The folder is created, closed to others, and left empty")
    func prepare() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: "\(folder)/a/b/reports")
            try store.prepare()
            try store.prepare()
            #expect(TestFiles.mode("\(folder)/a/b/reports") == 0o750)
            #expect(TestFiles.names(in: store.directory) == [])
        }
    }

    @Test("A folder that cannot be created is reported with path, reason and advice")
    func prepareInAFile() throws {
        try TestFiles.withFolder { folder in
            try TestFiles.write([], to: "\(folder)/file")
            let error = failure { try ReportStore(directory: "\(folder)/file/reports").prepare() }
            #expect(error?.code == .unusable)
            #expect(error?.errno == ENOTDIR)
            #expect(
                error?.description == "cannot create \(folder)/file/reports: Not a directory (ENOTDIR); "
                    + "a part of the path is a file; choose another folder")
            #expect(failure { try ReportStore(directory: "\(folder)/file").prepare() }?.errno == ENOTDIR)
            #expect(failure { try ReportStore(directory: "").prepare() }?.code == .unusable)
        }
    }

    @Test("A folder that is not writable is reported before the first incident")
    func prepareWithoutPermission() throws {
        guard geteuid() != 0 else {
            // Root can write to every folder; /proc accepts no files from anyone.
            let error = failure { try ReportStore(directory: "/proc/self/task").prepare() }
            #expect(error?.code == .unusable)
            #expect(error?.description.hasPrefix("cannot write to /proc/self/task: ") == true)
            return
        }
        try TestFiles.withFolder { folder in
            chmod(folder, 0o500)
            let error = failure { try ReportStore(directory: folder).prepare() }
            #expect(error?.code == .unusable)
            #expect(
                error?.description
                    == "cannot write to \(folder): Permission denied (EACCES); "
                    + "choose a folder that user \(geteuid()) may write to")
        }
    }

    @Test("A folder's mode, owner and group decide who may read it", .enabled(if: geteuid() == 0, "needs root"))
    func readers() throws {
        try TestFiles.withFolder { folder in
            func readers(_ mode: mode_t, _ user: uid_t = 0, _ group: gid_t = 0) -> String? {
                chmod(folder, mode)
                chown(folder, user, group)
                return Readers(of: "\(folder)/nowhere/x.ips")?.description
            }
            #expect(readers(0o700) == "\(folder) is readable by root only")
            #expect(readers(0o710) == "\(folder) is readable by root only", "a folder has to be searched and listed")
            #expect(readers(0o750) == "\(folder) is readable by root and group root")
            #expect(
                readers(0o750, 4_000_000, 4_000_001)
                    == "\(folder) is readable by root, user 4000000 and group 4000001")
            #expect(readers(0o755) == nil, "then it is something else that forbids it")
            try TestFiles.write([], to: "\(folder)/file")
            chmod("\(folder)/file", 0o640)
            #expect(Readers(of: "\(folder)/file")?.description == "\(folder)/file is readable by root and group root")
        }
    }

    // MARK: Writing

    @Test("A report is named after app and time, and only its group may read it")
    func write() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let path = try store.write(report())
            #expect(path == "\(folder)/HangMain-2026-11-21-002022.ips")
            #expect(TestFiles.mode(path) == 0o640)
            #expect(try ReportCoding.decode(TestFiles.read(path) ?? []) == report())
            #expect(TestFiles.names(in: folder).count == 1)
        }
    }

    @Test("A second report in the same second gets a number")
    func collisions() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            for number in 1...3 { _ = try store.write(report(number: number)) }
            #expect(
                TestFiles.names(in: folder) == [
                    "HangMain-2026-11-21-002022-2.ips", "HangMain-2026-11-21-002022-3.ips",
                    "HangMain-2026-11-21-002022.ips",
                ])
        }
    }

    @Test("A symbolic link instead of a report is never written through")
    func linkInPlaceOfAReport() throws {
        try TestFiles.withFolder { folder in
            try TestFiles.write([1], to: "\(folder)/victim")
            symlink("victim", "\(folder)/HangMain-2026-11-21-002022.ips")
            let store = ReportStore(directory: folder)
            #expect(try store.write(report()) == "\(folder)/HangMain-2026-11-21-002022-2.ips")
            #expect(TestFiles.read("\(folder)/victim") == [1])
            #expect(try store.list().map(\.name) == ["HangMain-2026-11-21-002022-2.ips"])
            let error = failure { _ = try store.find("HangMain-2026-11-21-002022.ips") }
            #expect(error?.code == .notFound)
        }
    }

    @Test(
        "An app's name cannot leave the folder, hide or become an option",
        arguments: [
            ("../../etc/passwd", "_./.._etc_passwd".replacing("/", with: "_")), ("", "app"), ("-rf", "_rf"),
            (".hidden", "_hidden"), ("a b\n", "a_b_"), ("Größe", "Gr____e"),
            (String(repeating: "x", count: 500), String(repeating: "x", count: 128)),
        ]
    )
    func names(app: String, name: String) throws {
        #expect(ReportFileName.sanitised(app) == name)
        #expect(ReportFileName.isReport(ReportFileName.make(app: app, time: Samples.captureTime)))
        #expect(ReportFileName.isReport(ReportFileName.make(app: app, time: Samples.captureTime, number: 12)))
        #expect(ReportFileName.isTemporary(ReportFileName.temporary(app: app, time: Samples.captureTime, token: "0a")))
    }

    @Test(
        "Foreign files are not treated as reports",
        arguments: [
            "notes.txt", "HangMain.ips", "HangMain-2026-11-21.ips", "-2026-11-21-002022.ips", "2026-11-21-002022.ips",
            "HangMain-2026-11-21-002022.ips.bak", "HangMain-2026-11-21-00202x.ips", "HangMain-2026-11-21-002022-.ips",
            ".HangMain-2026-11-21-002022.ips", "Hang Main-2026-11-21-002022.ips",
            "HangMain-2026-11-21-002022-12345.ips",
        ]
    )
    func foreignNames(name: String) {
        #expect(!ReportFileName.isReport(name))
    }

    @Test("A report without a time of capture is rejected")
    func invalidReport() throws {
        try TestFiles.withFolder { folder in
            var report = report()
            report.body.captureTime = "yesterday"
            report.metadata.timestamp = ""
            #expect(failure { _ = try ReportStore(directory: folder).write(report) }?.code == .invalidReport)
            #expect(TestFiles.names(in: folder) == [])
        }
    }

    @Test("A full disk is reported as such and leaves no partial file")
    func fullDisk() throws {
        guard geteuid() == 0 else {
            print("skipped: only root can mount a small file system")
            return
        }
        try TestFiles.withFolder { folder in
            guard mount("tmpfs", folder, "tmpfs", 0, "size=16k") == 0 else {
                print("skipped: mount: \(String(cString: strerror(errno)))")
                return
            }
            defer { umount(folder) }
            let store = ReportStore(directory: folder)
            try store.prepare()
            let large = Samples.report(Samples.facts(), capture: Samples.capture)
            #expect(try ReportCoding.encode(large).count > 8_192)
            let error = failure { for _ in 0..<4 { _ = try store.write(large) } }
            #expect(error?.code == .full)
            #expect(
                error?.description.hasSuffix(
                    "No space left on device (ENOSPC); free some space there, or choose another folder") == true)
            for report in try store.list() { #expect(try store.read(report) == large) }
            #expect(TestFiles.names(in: folder).allSatisfy(ReportFileName.isReport))
        }
    }

    @Test("Simultaneous writers get separate files")
    func concurrentWriters() async throws {
        let folder = try TestFiles.makeFolder()
        let store = ReportStore(directory: folder)
        let reports = (1...32).map { report(number: $0) }
        await withTaskGroup(of: Void.self) { group in
            for report in reports { group.addTask { _ = try? store.write(report) } }
        }
        #expect(try Set(store.list().map { $0.metadata?.incidentID }) == Set(reports.map(\.metadata.incidentID)))
        for name in TestFiles.names(in: folder) { unlink("\(folder)/\(name)") }
        #expect(rmdir(folder) == 0)
    }

    // MARK: Limits

    /// Writes reports a day apart, each file with the time of its report.
    private func fill(_ folder: String, _ limits: ReportStore.Limits, days: Int) throws {
        let store = ReportStore(directory: folder, limits: limits)
        let now = Int(time(nil))
        for day in 0..<days {
            let path = try store.write(report(number: day + 1, seconds: Int64(day * 86_400)))
            try TestFiles.setTime(path, seconds: now - (days - day) * 86_400)
        }
        _ = try store.write(report(number: days + 1, seconds: Int64(days * 86_400)))
    }

    @Test("Beyond the count limit the oldest are removed")
    func countLimit() throws {
        try TestFiles.withFolder { folder in
            try fill(folder, ReportStore.Limits(count: 3), days: 5)
            #expect(
                TestFiles.names(in: folder) == [
                    "HangMain-2026-11-24-002022.ips", "HangMain-2026-11-25-002022.ips",
                    "HangMain-2026-11-26-002022.ips",
                ])
        }
    }

    @Test("Beyond the age limit the oldest are removed")
    func ageLimit() throws {
        try TestFiles.withFolder { folder in
            try fill(folder, ReportStore.Limits(age: .seconds(2 * 86_400 + 3_600)), days: 5)
            #expect(
                TestFiles.names(in: folder) == [
                    "HangMain-2026-11-24-002022.ips", "HangMain-2026-11-25-002022.ips",
                    "HangMain-2026-11-26-002022.ips",
                ])
        }
    }

    @Test("An app's reports are kept for the app's own age limit, shorter or longer than others'")
    func ageOfApp() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder, limits: ReportStore.Limits(age: .seconds(5 * 86_400)))
            store.keep(reportsOf: "Short-1", for: .seconds(2 * 86_400))
            store.keep(reportsOf: "Long", for: .seconds(9 * 86_400))
            let now = Int(time(nil))
            let ages = [("Short-1", 1), ("Short-1", 3), ("Long", 8), ("Long", 10), ("HangMain", 4), ("HangMain", 6)]
            for (app, days) in ages {
                let written = try store.write(report(number: days, seconds: 0))
                let name = "\(app)-2026-11-\(10 + days)-002022-2.ips"
                #expect(rename(written, "\(folder)/\(name)") == 0)
                try TestFiles.setTime("\(folder)/\(name)", seconds: now - days * 86_400 - 3_600)
            }
            _ = try store.write(report(number: 20, seconds: 0))
            #expect(
                Set(TestFiles.names(in: folder)) == [
                    "Short-1-2026-11-11-002022-2.ips", "Long-2026-11-18-002022-2.ips",
                    "HangMain-2026-11-14-002022-2.ips", "HangMain-2026-11-21-002022.ips",
                ])
        }
    }

    @Test("Beyond the size limit the oldest are removed, but never the newest")
    func bytesLimit() throws {
        let size = Int64(try ReportCoding.encode(report(number: 6, seconds: 0)).count)
        try TestFiles.withFolder { folder in
            try fill(folder, ReportStore.Limits(bytes: size * 2 + size / 2), days: 5)
            #expect(TestFiles.names(in: folder).count == 2)
        }
        try TestFiles.withFolder { folder in
            try fill(folder, ReportStore.Limits(count: 0, bytes: 0, age: .zero), days: 3)
            #expect(TestFiles.names(in: folder) == ["HangMain-2026-11-24-002022.ips"])
        }
    }

    @Test(
        "Sparse files whose total size overflows are removed, not counted",
        .enabled(if: access("/dev/shm", W_OK) == 0, "only tmpfs has files of such sizes"))
    func sparseFiles() throws {
        try TestFiles.withFolder(in: "/dev/shm") { folder in
            let store = ReportStore(directory: folder)
            let first = try store.write(report(number: 1, seconds: 0))
            for number in 2...4 {
                let path = "\(folder)/Sparse-2026-11-2\(number)-002022.ips"
                try TestFiles.write([], to: path)
                #expect(truncate(path, .max - 4_096) == 0)
            }
            let last = try store.write(report(number: 2, seconds: 86_400))
            #expect(TestFiles.names(in: folder).allSatisfy { !$0.hasPrefix("Sparse") })
            #expect(TestFiles.names(in: folder).contains { last.hasSuffix($0) })
            #expect(first != last)
        }
    }

    @Test("Only the store's own files are removed: reports, and partial ones after a crash")
    func otherFilesStay() throws {
        try TestFiles.withFolder { folder in
            let others = ["notes.txt", "HangMain.ips", ".HangMain-2026-11-20-002022.ips.0b.partial"]
            let stale = ".HangMain-2026-11-20-002022.ips.0a.partial"
            let replacing = ReportFileName.temporary(replacing: "HangMain-2026-11-20-002022-2.ips", token: "0a")
            for name in others + [stale, replacing] { try TestFiles.write([1], to: "\(folder)/\(name)") }
            mkdir("\(folder)/Folder-2026-11-20-002022.ips", 0o700)
            symlink("notes.txt", "\(folder)/Link-2026-11-20-002022.ips")
            let now = Int(time(nil))
            try TestFiles.setTime("\(folder)/notes.txt", seconds: 1)
            try TestFiles.setTime("\(folder)/HangMain.ips", seconds: 1)
            for name in [stale, replacing] { try TestFiles.setTime("\(folder)/\(name)", seconds: now - 4_000) }
            _ = try ReportStore(directory: folder, limits: ReportStore.Limits(count: 0)).write(report())
            #expect(
                TestFiles.names(in: folder)
                    == (others + [
                        "Folder-2026-11-20-002022.ips", "HangMain-2026-11-21-002022.ips", "Link-2026-11-20-002022.ips",
                    ]).sorted())
        }
    }

    // MARK: Finding

    @Test("A list has the newest first and shows damage")
    func list() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            #expect(try store.list().isEmpty)
            for number in [2, 3, 1] { _ = try store.write(report(number: number, seconds: Int64(number * 60))) }
            try TestFiles.write(Array("{".utf8), to: "\(folder)/Broken-2026-11-21-002022.ips")
            try TestFiles.setTime("\(folder)/Broken-2026-11-21-002022.ips", seconds: 1)
            let reports = try store.list()
            #expect(
                reports.map { $0.metadata?.incidentID } == [3, 2, 1].map { Samples.id($0).description } + [nil])
            #expect(reports.last?.fault == "line 1: the file ends too early: expected a key")
            #expect(reports.first?.metadata?.linux?.verdict == "blocked in recvfrom")
        }
    }

    @Test("A list reads only the beginning of a file")
    func boundedList() throws {
        try TestFiles.withFolder { folder in
            let line = "{\"app_name\":\"" + String(repeating: "x", count: 1 << 20) + "\"}\n"
            try TestFiles.write(Array(line.utf8), to: "\(folder)/Long-2026-11-21-002022.ips")
            mkfifo("\(folder)/Pipe-2026-11-21-002022.ips", 0o600)
            let reports = try ReportStore(directory: folder).list()
            #expect(reports.map(\.name) == ["Long-2026-11-21-002022.ips"])
            #expect(reports.first?.metadata == nil)
        }
    }

    @Test("A report is found as the latest, by its identifier, its file and its path")
    func find() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            var first = report(number: 1)
            first.metadata.incidentID = "ABCD1234-0000-4000-8000-000000000001"
            var second = report(number: 2, seconds: 60)
            second.metadata.incidentID = "ABCD5678-0000-4000-8000-000000000002"
            _ = try store.write(first)
            let path = try store.write(second)
            #expect(try store.read(store.find("latest")) == second)
            #expect(try store.read(store.find("abcd1")) == first)
            #expect(try store.read(store.find(first.metadata.incidentID)) == first)
            #expect(try store.read(store.find("HangMain-2026-11-21-002022.ips")) == first)
            #expect(try store.read(store.find(path)) == second)
            #expect(failure { _ = try store.find("abcd") }?.code == .ambiguous)
            let short = failure { _ = try store.find("abc") }
            #expect(short?.code == .notFound)
            #expect(short?.description.contains("holds no report of an app of this name") == true)
            #expect(failure { _ = try store.find("ffff") }?.code == .notFound)
            #expect(failure { _ = try store.find("none-2026-11-21-002022.ips") }?.code == .notFound)
            #expect(failure { _ = try store.find("\(folder)/none.ips") }?.code == .notFound)
        }
    }

    @Test("An incident's report is found among those of its app only")
    func ofIncident() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let incident = try #require(IncidentID("ABCD1234-0000-4000-8000-000000000001"))
            #expect(store.report(of: incident, app: "HangMain") == nil)
            for number in 1...3 {
                var report = report(number: number)
                report.metadata.incidentID = "ABCD1234-0000-4000-8000-00000000000\(number)"
                _ = try store.write(report)
            }
            #expect(store.report(of: incident, app: "HangMain")?.metadata?.incidentID == incident.description)
            #expect(store.report(of: .random(), app: "HangMain") == nil)
            #expect(store.report(of: incident, app: "Hang") == nil)
        }
    }

    @Test("An empty or missing folder yields nothing, and the reason is reported")
    func findNothing() throws {
        try TestFiles.withFolder { folder in
            #expect(
                failure { _ = try ReportStore(directory: folder).find("latest") }?.description
                    == "cannot find report: \(folder) holds no report")
            let missing = ReportStore(directory: "\(folder)/missing")
            #expect(
                failure { _ = try missing.find("latest") }?.description
                    == "cannot open \(folder)/missing: No such file or directory (ENOENT); check the path")
        }
    }

    @Test("A path outside the store is read, even through a link, but only if it is a regular file")
    func outside() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: "\(folder)/reports")
            try TestFiles.write(try ReportCoding.encode(report()), to: "\(folder)/a.ips")
            symlink("a.ips", "\(folder)/b.ips")
            #expect(try store.read(store.find("\(folder)/b.ips")) == report())
            mkfifo("\(folder)/pipe.ips", 0o600)
            #expect(failure { _ = try store.find("\(folder)/pipe.ips") }?.code == .damaged)
            #expect(failure { _ = try store.find(folder) }?.code == .damaged)
        }
    }

    @Test("A link in place of a stored report is neither followed nor replaced")
    func linkInsteadOfReplaced() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: "\(folder)/reports")
            try store.prepare()
            let path = try store.write(report())
            let stored = try #require(try store.list().first)
            try TestFiles.write([1, 2, 3], to: "\(folder)/secret")
            #expect(rename(path, "\(path).aside") == 0)
            #expect(symlink("\(folder)/secret", path) == 0)
            #expect(failure { try store.replace(stored, with: report()) }?.reason == "not a regular file")
            #expect(TestFiles.read("\(folder)/secret") == [1, 2, 3])
            #expect(TestFiles.names(in: folder) == ["reports", "secret"])
        }
    }

    @Test("A replacement has its mode and time before its name, and no other file gets them")
    func replacing() throws {
        try TestFiles.withFolder { folder in
            let (old, foreign) = ("\(folder)/old.ips", "\(folder)/foreign")
            for path in [old, foreign] { try TestFiles.write([1], to: path) }
            chmod(old, 0o604)
            chmod(foreign, 0o600)
            try TestFiles.setTime(old, seconds: 1_000_000)
            let store = try StoreFolder(folder)
            let file = try store.create("new.tmp", [2, 3], like: store.attributes("old.ips"))
            let modified = store.status("new.tmp")?.modified
            #expect(TestFiles.mode("\(folder)/new.tmp") == 0o604)
            #expect(modified?.seconds == 1_000_000)
            // A user who may write to the folder puts a link in its place.
            unlink("\(folder)/new.tmp")
            symlink(foreign, "\(folder)/new.tmp")
            try file.rename(to: "old.ips")
            #expect(TestFiles.mode(foreign) == 0o600)
            #expect(TestFiles.read(foreign) == [1])
        }
    }

    @Test("A damaged file is reported with its path and line")
    func damaged() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let path = try store.write(report())
            let bytes = try #require(TestFiles.read(path))
            try TestFiles.write(Array(bytes.dropLast(3)), to: path)
            let error = failure { _ = try store.read(store.find("latest")) }
            #expect(error?.code == .damaged)
            let lines = bytes.count { $0 == UInt8(ascii: "\n") }
            #expect(
                error?.description.hasPrefix("cannot read \(path): line \(lines - 1): the file ends too early") == true)
        }
    }
}
