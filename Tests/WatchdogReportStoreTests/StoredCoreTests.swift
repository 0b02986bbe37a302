// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogReport

@testable import WatchdogReportStore

@Suite("Kept stacks")
struct StoredCoreTests {
    /// The part of a core file that the store checks.
    private static func core(_ size: Int = 1_000) -> [UInt8] {
        var bytes: [UInt8] = [0x7F, 0x45, 0x4C, 0x46]
        bytes += [UInt8](repeating: 0, count: 12)
        bytes.append(4)
        bytes += [UInt8](repeating: 7, count: size - bytes.count)
        return bytes
    }

    private func report(number: Int = 1, seconds: Int64 = 0) -> Report {
        var facts = Samples.facts(number: number)
        facts.captureTime.seconds += seconds
        return Report(of: facts, on: Samples.host, capture: nil)
    }

    /// Writes a report with its stacks, and returns their path.
    @discardableResult
    private func write(
        _ report: Report, to store: ReportStore, _ core: [UInt8] = StoredCoreTests.core()
    ) throws -> String {
        let path = try store.write(report, core: try store.set(aside: core, of: report))
        return "\(path.dropLast(4)).core"
    }

    @Test("They are stored beside the report, and only the owner may read them")
    func beside() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let core = try write(report(), to: store)
            #expect(TestFiles.mode(core) == 0o600)
            #expect(TestFiles.read(core) == Self.core())
            #expect(TestFiles.names(in: folder).count == 2)
            let stored = try #require(try store.list().first)
            #expect(try store.list().count == 1)
            #expect(try store.core(of: stored, limit: 1_000) == Self.core())
        }
    }

    @Test("A second report in the same second has its own")
    func numbered() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            try write(report(number: 1), to: store, Self.core(100))
            let second = try write(report(number: 2), to: store, Self.core(200))
            #expect(second.hasSuffix("-2.core"))
            #expect(TestFiles.read(second)?.count == 200)
        }
    }

    @Test("They are removed with the report, by deletion and by every limit")
    func removed() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let core = try write(report(), to: store)
            try store.delete(try #require(try store.list().first))
            #expect(access(core, F_OK) != 0)
            #expect(TestFiles.names(in: folder) == [])
        }
        let limits = [
            ReportStore.Limits(count: 1), ReportStore.Limits(bytes: 1), ReportStore.Limits(age: .seconds(60)),
        ]
        for limit in limits {
            try TestFiles.withFolder { folder in
                let store = ReportStore(directory: folder, limits: limit)
                let old = try write(report(), to: store)
                try TestFiles.setTime("\(old.dropLast(5)).ips", seconds: 1_000_000)
                let new = try write(report(number: 2, seconds: 100), to: store)
                #expect(access(old, F_OK) != 0, "\(limit)")
                #expect(access(new, F_OK) == 0, "\(limit)")
                #expect(try store.list().count == 1)
            }
        }
    }

    @Test("The size limit counts them")
    func quota() throws {
        try TestFiles.withFolder { folder in
            // Room for three reports, or for one with its stacks.
            let size = Int64(try ReportCoding.encode(report()).count)
            let store = ReportStore(directory: folder, limits: ReportStore.Limits(bytes: 4 * size))
            for number in 1...3 { _ = try store.write(report(number: number, seconds: Int64(number))) }
            #expect(try store.list().count == 3)
            try write(report(number: 4, seconds: 4), to: store, Self.core(Int(size) * 5 / 2))
            #expect(try store.list().count == 1)
        }
    }

    @Test("Stacks of a missing report are removed when the next one is written, and nothing else")
    func orphans() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let orphan = try write(report(), to: store)
            unlink("\(orphan.dropLast(5)).ips")
            try TestFiles.write([1], to: "\(folder)/core")
            try TestFiles.write([1], to: "\(folder)/photos.core")
            let new = try write(report(number: 2, seconds: 1), to: store)
            let names = TestFiles.names(in: folder)
            #expect(!names.contains { orphan.hasSuffix("/\($0)") })
            #expect(names.contains("core") && names.contains("photos.core"))
            #expect(names.contains { new.hasSuffix("/\($0)") })
        }
    }

    @Test("A link in their place is neither written through nor read")
    func links() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let other = "\(folder)/other"
            try TestFiles.write(Array("theirs".utf8), to: other)
            let path = try store.write(report())
            let core = "\(path.dropLast(4)).core"
            unlink(path)
            #expect(symlink(other, core) == 0)
            // The same report again, because its name is free.
            #expect(try write(report(), to: store) == core)
            #expect(TestFiles.read(other) == Array("theirs".utf8))
            #expect(TestFiles.read(core) == Self.core())
            unlink(core)
            #expect(symlink(other, core) == 0)
            let stored = try #require(try store.list().first)
            #expect(throws: ReportStoreError.self) { try store.core(of: stored, limit: 1_000) }
        }
    }

    @Test("A report without any has none, and a file that is not a core or too large is rejected")
    func foreign() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            let path = try store.write(report())
            let stored = try #require(try store.list().first)
            #expect(try store.core(of: stored, limit: 1_000) == nil)
            for bytes in [[], Array("no core".utf8), Self.core(1_001)] {
                try TestFiles.write(bytes, to: "\(path.dropLast(4)).core")
                let error = #expect(throws: ReportStoreError.self) { try store.core(of: stored, limit: 1_000) }
                #expect(error?.code == .damaged)
            }
        }
    }

    @Test("Stacks without a report leave nothing behind")
    func unwritten() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            _ = try store.set(aside: Self.core(), of: report())
            #expect(TestFiles.names(in: folder) == [])
        }
    }

    @Test("A full disk is reported as such without leftovers, and the report still fits")
    func fullDisk() throws {
        guard geteuid() == 0 else {
            print("skipped: only root can mount a small file system")
            return
        }
        try TestFiles.withFolder { folder in
            guard mount("tmpfs", folder, "tmpfs", 0, "size=64k") == 0 else {
                print("skipped: mount: \(String(cString: strerror(errno)))")
                return
            }
            defer { umount(folder) }
            let store = ReportStore(directory: folder)
            let error = #expect(throws: ReportStoreError.self) {
                try store.set(aside: Self.core(128 << 10), of: report())
            }
            #expect(error?.code == .full)
            #expect(TestFiles.names(in: folder) == [])
            _ = try store.write(report())
            #expect(try store.list().count == 1)
        }
    }

    @Test("They are kept only for apps with that setting")
    func asked() {
        let store = ReportStore(directory: "/nonexistent")
        let copy = store
        #expect(!store.keepsStacks(of: "photos"))
        copy.keep(stacksOf: "photos", true)
        copy.keep(reportsOf: "photos", for: .seconds(60))
        #expect(store.keepsStacks(of: "photos") && !store.keepsStacks(of: "album"))
        copy.keep(stacksOf: "photos", false)
        #expect(!store.keepsStacks(of: "photos"))
    }
}
