// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Open files of all processes")
struct OpenFilesTests {
    private func budget() -> WorkBudget { WorkBudget(patience, reserve: patience) }

    private func inode(_ descriptor: OwnedDescriptor) -> UInt64 {
        var status = stat()
        fstat(descriptor.number, &status)
        return UInt64(status.st_ino)
    }

    @Test("a cached table is used until it is too old")
    func lifetime() throws {
        let pipe = try OwnedDescriptor.pipe()
        var first = OpenFiles()
        #expect(first.table == nil)
        var found: [OpenFiles.Holder] = []
        // Another test may be forking a process that has a copy of the pipe for a moment.
        let isAlone = eventually {
            first = OpenFiles()
            found = first.holders(of: .pipe(inode(pipe.read)), budget())
            return found.map(\.process) == [getpid()]
        }
        #expect(isAlone, "\(found)")
        let table = try #require(first.table)
        let end = table.began + OpenFiles.Table.lifetime
        #expect(table.isFresh(at: end - .nanoseconds(1)) && !table.isFresh(at: end))
        #expect(!table.isFresh(at: table.began - .nanoseconds(1)))
        let second = OpenFiles(table, at: end - .nanoseconds(1))
        #expect(second.holders(of: .pipe(inode(pipe.read)), budget()) == found)
        #expect(second.table?.began == table.began, "nothing was read")
        #expect(OpenFiles(table, at: end).table == nil)
    }

    @Test("a file missing from the cached table is searched again, once")
    func missing() throws {
        let first = OpenFiles()
        _ = first.holders(of: .fileServer, budget())
        let table = try #require(first.table)
        let pipe = try OwnedDescriptor.pipe()
        var second = OpenFiles(table, at: table.began)
        let isAlone = eventually {
            second = OpenFiles(table, at: table.began)
            return second.holders(of: .pipe(inode(pipe.read)), budget()).map(\.process) == [getpid()]
        }
        #expect(isAlone)
        let began = try #require(second.table).began
        #expect(began > table.began)
        #expect(second.holders(of: .pipe(0), budget()).isEmpty)
        #expect(second.table?.began == began)
    }
}
