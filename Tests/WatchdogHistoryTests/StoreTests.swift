// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogHistory

@Suite("The store of launches")
struct StoreTests {
    @Test("All written values are read: counts by version, kind, host and cause, failures, first and last version")
    func roundTrip() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        try store.add([
            .launch(.sample(at: .seconds(60), ready: .milliseconds(10))),
            .launch(.sample(at: .seconds(90_000), ready: .milliseconds(30), build: "bb", cause: "crash")),
            .launch(.sample(at: .seconds(90_060), ready: nil, build: "bb", temperature: .cold, host: "beta")),
            .launch(.sample("other", at: .seconds(5))),
        ])
        let reader = try HistoryReader(path: scratch.file)
        #expect(try reader.apps() == ["other", "redis"])
        let table = try reader.launches(of: "redis", by: .version)
        #expect(table.groups.map(\.label) == ["3f2a91c0 (redis-server 5:7.0.15-1)", "bb (redis-server 5:7.0.15-1)"])
        #expect(table.groups.map(\.count) == [1, 2])
        #expect(table.groups.map(\.failures) == [0, 1])
        #expect(table.firstVersion?.buildID == "3f2a91c0aa")
        #expect(table.lastVersion?.buildID == "bb")
        #expect(try reader.launches(of: "redis", by: .host).groups.map(\.label) == ["alpha", "beta"])
        #expect(try reader.launches(of: "redis", by: .cause).groups.map(\.label) == ["start", "crash"])
        #expect(try reader.launches(of: "redis", by: .kind).groups.map(\.label) == ["warm launch", "cold launch"])
        #expect(try reader.launches(of: nil, by: .app).groups.map(\.label) == ["redis", "other"])
        #expect(try reader.launches(of: "none", by: .version).groups == [])
    }

    @Test("A launch that was only assumed ready is counted, but its time is not, on whole and partial days")
    func assumed() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        func silent(at time: Duration) -> HistoryEntry {
            var launch = KeptLaunch.sample(at: time, ready: .seconds(20))
            launch.source = "assumed"
            return .launch(launch)
        }
        try store.add([
            .launch(.sample(at: .seconds(60), ready: .milliseconds(252))), silent(at: .seconds(90)),
            .launch(.sample(at: .seconds(120), ready: nil)), silent(at: .seconds(90_000)),
        ])
        let reader = try HistoryReader(path: scratch.file)
        for since in [nil, WallTime(microseconds: KeptLaunch.epoch + 1)] {
            let table = try reader.launches(of: "redis", since: since, by: .version)
            let total = try #require(table.total)
            #expect([total.count, total.assumed, total.failures, total.durations.count] == [4, 2, 1, 1])
            let longest = try #require(total.durations.quantile(1))
            #expect(longest < .seconds(1))
            let text = LaunchesText(columns: 100).text(table)
            #expect(text.hasPrefix("redis: 4 launches, 1 never ready, 2 assumed ready (not timed), "))
            #expect(text.contains("not ready   assumed       p50"))
        }
        let metrics = try reader.metrics(of: "redis")
        #expect(metrics.count == 2)
        #expect(KeptLaunch.sample(at: .zero).isAssumed == false)
    }

    @Test("Without such launches, there is no column for them")
    func noneAssumed() throws {
        let scratch = Scratch()
        try HistoryStore(path: scratch.file).add([.launch(.sample(at: .zero))])
        let table = try HistoryReader(path: scratch.file).launches(of: "redis", by: .version)
        #expect(table.total?.assumed == 0)
        #expect(!LaunchesText().text(table).contains("assumed"))
    }

    @Test("Only entries since the given time count, to the microsecond, although days are counted as a whole")
    func since() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        let launches = (0..<96).map { KeptLaunch.sample(at: .seconds($0 * 3_600)) }
        try store.add(launches.map { .launch($0) })
        let reader = try HistoryReader(path: scratch.file)
        for hour in [0, 1, 23, 24, 25, 95] {
            let time = launches[hour].time
            #expect(try reader.launches(of: "redis", since: time, by: .version).total?.count == 96 - hour)
            let later = WallTime(microseconds: time.microseconds + 1)
            #expect(try reader.launches(of: nil, since: later, by: .app).total?.count ?? 0 == 95 - hour)
        }
    }

    @Test("The entries of an app are returned one by one; those of others are not")
    func entries() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        let time = WallTime(microseconds: KeptLaunch.epoch + 70_000_000)
        let hang = KeptHang(app: "redis", time: time, duration: .seconds(2), event: "scene-update", isFatal: true)
        let end = KeptTermination(
            app: "redis", time: time, reason: .watchdog, isForeground: true, event: "scene-update")
        try store.add([
            .launch(.sample(at: .seconds(90), ready: nil)), .launch(.sample(at: .seconds(60))),
            .launch(.sample("other", at: .seconds(5))), .hang(hang), .termination(end),
        ])
        let reader = try HistoryReader(path: scratch.file)
        let entries = try reader.entries(of: "redis")
        let launches = entries.compactMap { if case .launch(let launch) = $0 { launch } else { nil } }
        #expect(launches.map(\.outcome) == [.ready, .ended], "in order of time")
        #expect(launches.first?.moments == [.exec: .milliseconds(1), .ready: .milliseconds(12)])
        #expect(entries.suffix(2) == [.hang(hang), .termination(end)])
        #expect(try reader.entries(of: "redis", since: time).count == 3)
        #expect(try reader.entries(of: "none") == [])
    }

    @Test("Only the owner and the group may read the file")
    func mode() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        try store.add([.launch(.sample(at: .zero))])
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            #expect(stat(scratch.file + suffix, &status) == 0)
            #expect(status.st_mode & 0o137 == 0)
        }
    }

    @Test(
        "A damaged store is set aside under a new name with a notice, and a new one begins", arguments: [true, false])
    func damaged(hasHeader: Bool) throws {
        let scratch = Scratch()
        if hasHeader {
            let store = try HistoryStore(path: scratch.file)
            try store.add((0..<2_000).map { .launch(.sample(at: .seconds($0))) })
        }
        do {
            let file = try OwnedDescriptor(opening: scratch.file, flags: O_RDWR | O_CREAT)
            let noise = [UInt8](repeating: 0x5A, count: 64 << 10)
            #expect(pwrite(file.number, noise, noise.count, hasHeader ? 200 : 0) == noise.count)
        }
        let (store, warning) = try HistoryStore.open(scratch.file)
        #expect(warning?.contains("\(scratch.file).damaged-1") == true)
        #expect(access("\(scratch.file).damaged-1", F_OK) == 0)
        try store.add([.launch(.sample(at: .zero))])
        #expect(try HistoryReader(path: scratch.file).launches(of: nil, by: .app).total?.count == 1)
    }

    @Test("Numbers that no watchdogd writes crash neither a reader nor a writer")
    func absurdNumbers() throws {
        for statement in [
            "UPDATE day SET count = \(Int64.max)", "UPDATE day SET count = \(Int64.min)",
            "UPDATE day SET first_time = \(Int64.min), last_time = \(Int64.max)",
            "UPDATE launch SET time = \(Int64.min), ready = \(Int64.max), cpu_time = \(Int64.min)",
            "UPDATE launch SET time = iif(id % 2, \(Int64.min), \(Int64.max))",
            "UPDATE launch SET phases = x'\(String(repeating: "ff7f", count: 40))'",
            "UPDATE day_phases SET buckets = x'07ff0f\(String(repeating: "05ffffffffff1f", count: 400))'",
            "UPDATE day_phases SET buckets = 5, day = \(Int64.max)",
            "UPDATE day SET buckets = x'\(String(repeating: "05ffffffffff1f", count: 40))'",
            "UPDATE day_moments SET buckets = x'\(String(repeating: "05ffffffffff1f", count: 40))', moment = 'useful'",
            "UPDATE launch SET exec = \(Int64.max), extended = \(Int64.min)",
        ] {
            let scratch = Scratch()
            do {
                let store = try HistoryStore(path: scratch.file)
                let phases: [LaunchPhaseName: Duration] = [.exec: .milliseconds(1)]
                try store.add(["one", "two"].map { .launch(.sample($0, at: .zero, phases: phases)) })
                try store.add(["one", "two"].map { .launch(.sample($0, at: .seconds(1), build: "bb")) })
                let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE, patience: .zero)
                try connection.execute(statement)
            }
            let reader = try HistoryReader(path: scratch.file)
            for key in LaunchGroup.Key.allCases {
                for since in [nil, WallTime(microseconds: KeptLaunch.epoch - 1)] {
                    let table = try reader.launches(of: nil, since: since, by: key)
                    #expect(table.groups.allSatisfy { $0.count >= 0 && $0.failures >= 0 }, "\(statement)")
                    #expect(LaunchesText().text(table).hasSuffix("\n"))
                    let phases = try reader.launches(of: "one", since: since, by: key).phases
                    #expect(phases.allSatisfy { $0.durations.count >= 0 }, "\(statement)")
                }
            }
            _ = try reader.metrics(of: nil)
            let store = try HistoryStore(path: scratch.file, limits: .init(bytes: 4_096))
            _ = try store.regression(of: "one", on: "alpha")
            try store.add([.launch(.sample("one", at: .zero))])
            try store.prune(at: .now())
        }
    }

    @Test("A FIFO instead of the history is rejected without a wait")
    func fifo() throws {
        let scratch = Scratch()
        let path = scratch.file
        #expect(mkfifo(path, 0o600) == 0)
        let thread = try WorkerThread.start {
            #expect { try HistoryReader(path: path) } throws: { "\($0)".contains("is not a regular file") }
        }
        #expect(thread.join(until: .now() + patience))
    }

    @Test("Another program's database is neither read, changed nor set aside")
    func foreign() throws {
        let scratch = Scratch()
        try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, patience: .zero)
            .execute("CREATE TABLE bookmark (name TEXT)")
        let file = try OwnedDescriptor(opening: scratch.file, flags: O_RDONLY)
        let before = try file.contents(limit: 1 << 20)
        for _ in 0..<2 {
            #expect { try HistoryStore.open(scratch.file) } throws: { ($0 as? HistoryError)?.code == .foreign }
        }
        #expect { try HistoryReader(path: scratch.file) } throws: { ($0 as? HistoryError)?.code == .foreign }
        #expect(access("\(scratch.file).damaged-1", F_OK) != 0)
        let after = try OwnedDescriptor(opening: scratch.file, flags: O_RDONLY)
        #expect(try after.contents(limit: 1 << 20) == before)
    }

    @Test("A store of a later watchdogd is not changed")
    func newer() throws {
        let scratch = Scratch()
        do {
            let store = try HistoryStore(path: scratch.file)
            try store.add([.launch(.sample(at: .zero))])
        }
        try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE, patience: .zero).execute("PRAGMA user_version = 99")
        #expect { try HistoryStore.open(scratch.file) } throws: {
            ($0 as? HistoryError)?.code == .newer && "\($0)".contains("format 99")
        }
        #expect { try HistoryReader(path: scratch.file) } throws: { ($0 as? HistoryError)?.code == .newer }
        #expect(access("\(scratch.file).damaged-1", F_OK) != 0)
    }

    @Test("A missing history is reported as such")
    func missing() {
        #expect { try HistoryReader(path: "/nowhere/history.db") } throws: {
            ($0 as? HistoryError)?.code == .notFound && "\($0)".contains("'watchdogd serve' writes it")
        }
    }

    @Test("An entry just older than the limit is removed; one just younger is kept")
    func age() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file, limits: .init(age: .seconds(100 * 86_400)))
        try store.add([.launch(.sample("old", at: .zero)), .launch(.sample("young", at: .seconds(1)))])
        try store.prune(at: WallTime(microseconds: KeptLaunch.epoch + 100 * WallTime.dayLength + 1))
        let reader = try HistoryReader(path: scratch.file)
        #expect(try reader.launches(of: nil, by: .app).groups.map(\.label) == ["young"])
    }

    @Test("A store that is too large loses its oldest launches")
    func size() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file, limits: .init(bytes: 400_000))
        for batch in 0..<20 {
            try store.add((0..<500).map { .launch(.sample(at: .seconds(batch * 50_000 + $0 * 100))) })
        }
        try store.prune(at: nil)
        let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE, patience: .zero)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        var status = stat()
        #expect(stat(scratch.file, &status) == 0)
        #expect(status.st_size <= 600_000)
        #expect(try connection.integer("SELECT count(*) FROM launch") ?? 0 > 500)
        #expect(try connection.integer("SELECT max(time) FROM launch") == KeptLaunch.epoch + 999_900_000_000)
    }

    @Test("Two processes write at the same time, and nothing is lost")
    func twoWriters() throws {
        let scratch = Scratch()
        let path = scratch.file
        _ = try HistoryStore(path: path)
        let written = Mutex<[String: Int]>([:])
        let threads = try ["left", "right"].map { name in
            try WorkerThread.start {
                var opened: HistoryStore?
                _ = eventually {
                    opened = try? HistoryStore(path: path)
                    return opened != nil
                }
                guard let store = opened else { return }
                for batch in 0..<50 {
                    let launches = (0..<10).map { KeptLaunch.sample(name, at: .seconds(batch * 10 + $0)) }
                    // On a busy machine, the other one may hold the lock at every attempt.
                    guard (try? store.add(launches.map { .launch($0) })) != nil else { continue }
                    written.withLock { $0[name, default: 0] += launches.count }
                }
            }
        }
        for thread in threads { #expect(thread.join(until: .now() + patience * 3)) }
        let groups = try HistoryReader(path: path).launches(of: nil, by: .app).groups
        let counts = written.withLock { $0 }
        #expect(counts.count == 2)
        #expect(Dictionary(uniqueKeysWithValues: groups.map { ($0.label, $0.count) }) == counts)
    }

    @Test("A slower version is reported once, even to the next watchdogd")
    func regression() throws {
        let scratch = Scratch()
        var store = try HistoryStore(path: scratch.file)
        for day in 0..<10 {
            try store.add([
                .launch(.sample(at: .seconds(day * 86_400), build: "aa", cpu: .microseconds(10_000 + day)))
            ])
        }
        for day in 10..<18 {
            try store.add([
                .launch(.sample(at: .seconds(day * 86_400), build: "bb", cpu: .microseconds(15_000 + day)))
            ])
            #expect(try store.regression(of: "redis", on: "alpha") == nil)
        }
        try store.add([.launch(.sample(at: .seconds(18 * 86_400), build: "bb", cpu: .milliseconds(15)))])
        #expect(try store.regression(of: "redis", on: "beta") == nil)
        let found = try #require(try store.regression(of: "redis", on: "alpha"))
        #expect(found.version.buildID == "bb")
        #expect(
            found.text
                == "launches 50 % more slowly since version bb (redis-server 5:7.0.15-1): CPU time 15 ms, with "
                + "aa (redis-server 5:7.0.15-1) 10 ms")
        #expect(try store.regression(of: "redis", on: "alpha") == nil)
        store = try HistoryStore(path: scratch.file)
        #expect(try store.regression(of: "redis", on: "alpha") == nil)
    }

    @Test(
        "A full disk rejects an entry and damages nothing; once there is room, entries are accepted again",
        .enabled(if: geteuid() == 0, "mounts a small disk"))
    func fullDisk() throws {
        let scratch = Scratch()
        guard mount("tmpfs", scratch.path, "tmpfs", 0, "size=512k") == 0 else {
            return print("skipped: no tmpfs may be mounted")
        }
        defer { umount2(scratch.path, 2) }
        let store = try HistoryStore(path: scratch.file)
        func add(_ second: Int) throws { try store.add([.launch(.sample(at: .seconds(second)))]) }
        func count() throws -> Int? {
            try HistoryReader(path: scratch.file).launches(of: nil, by: .app).total?.count
        }
        try add(0)
        let filler = try OwnedDescriptor(opening: "\(scratch.path)/filler", flags: O_WRONLY | O_CREAT)
        let bytes = [UInt8](repeating: 1, count: 4_096)
        while write(filler.number, bytes, bytes.count) > 0 {}
        #expect(errno == ENOSPC)
        var added = 1
        let refusal = #expect(throws: HistoryError.self) {
            for second in 1..<10_000 {
                try add(second)
                added += 1
            }
        }
        #expect(refusal.map { "\($0)".contains("full") } == true, "\(String(describing: refusal))")
        #expect(try count() == added)
        #expect(unlink("\(scratch.path)/filler") == 0)
        #expect(ftruncate(filler.number, 0) == 0)
        try add(10_000)
        #expect(try count() == added + 1)
    }
}

@Suite("Debian packages")
struct DebianPackagesTests {
    @Test("A file's package and its version are found, even under the other name of a merged folder")
    func finds() throws {
        let scratch = Scratch()
        #expect(mkdir("\(scratch.path)/info", 0o755) == 0)
        defer {
            for name in ["a:amd64", "b"] { unlink("\(scratch.path)/info/\(name).list") }
            rmdir("\(scratch.path)/info")
        }
        func write(_ text: String, _ name: String) throws {
            let file = try OwnedDescriptor(opening: "\(scratch.path)/\(name)", flags: O_WRONLY | O_CREAT | O_TRUNC)
            #expect(Glibc.write(file.number, text, text.utf8.count) == text.utf8.count)
        }
        try write("/.\n/usr\n/bin/tool\n/usr/lib/a\n", "info/a:amd64.list")
        try write("/.\n/usr/bin/tools\n", "info/b.list")
        try write(
            "Package: b\nStatus: install ok installed\nVersion: 2\n\nPackage: a\nArchitecture: amd64\nVersion: 1:1.5-3\n",
            "status")
        let packages = DebianPackages(folder: scratch.path)
        #expect(packages.package(of: "/usr/bin/tool") == .init(name: "a", version: "1:1.5-3"))
        #expect(packages.package(of: "/usr/bin/tools") == .init(name: "b", version: "2"))
        #expect(packages.package(of: "/usr/bin/too") == nil)
        #expect(packages.package(of: "relative") == nil)
        let version = ProgramVersion(buildID: "3f", file: "/usr/bin/tool")
        #expect(
            version.resolved(by: packages) == ProgramVersion(buildID: "3f", package: "a", packageVersion: "1:1.5-3"))
        #expect(version.resolved(by: DebianPackages(folder: "/nowhere")) == ProgramVersion(buildID: "3f"))
        // A configured version belongs to the app, whatever package its program comes from.
        let named = version.named("2.4.1").resolved(by: packages)
        #expect(named == ProgramVersion(buildID: "3f", packageVersion: "2.4.1") && named.name == "2.4.1")
        #expect(version.resolved(by: packages).name == "3f" && version.named("") == version)
        #expect(DebianPackages(folder: "/nowhere").package(of: "/usr/bin/tool") == nil)
    }
}
