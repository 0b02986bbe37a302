// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The kernel's counters of many cgroups", .reapsChildren)
struct CgroupReaderTests {
    @Test("Several cgroups of one directory, and one of another, each have their own CPU time")
    func times() throws {
        try withCgroup { first, parent in
            let second = try parent.create(app: "second")
            defer { _ = eventually { (try? second.remove()) != nil } }
            var request = SpawnRequest(
                executable: "/bin/sh", arguments: ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])
            request.cgroup = try first.directory()
            let spawned = try spawn(request)
            #expect(eventually { (try? spawned.process.waitExit()) != nil })
            var reader = CgroupReader()
            let (time, idle) = (reader.total(of: first), reader.total(of: second))
            let busy = try #require(time)
            #expect(busy > .zero && idle == .zero)
            let whole = try #require(first.cpuTime)
            #expect(busy <= whole)
            let slash = try #require(first.path.lastIndex(of: "/"))
            let outer = reader.total(of: try Cgroup(opening: String(first.path[..<slash])))
            let again = reader.total(of: first)
            #expect(try #require(outer) >= busy)
            // The kernel charges a process's last instants when it leaves its CPU for good, possibly after its exit is
            // visible.
            #expect(try #require(again) >= busy)
        }
    }

    @Test("A removed cgroup has no time")
    func gone() throws {
        try withCgroup { _, parent in
            let cgroup = try parent.create(app: "gone")
            var reader = CgroupReader()
            let there = reader.total(of: cgroup)
            #expect(there == .zero)
            try cgroup.remove()
            let (time, memory) = (reader.total(of: cgroup), reader.memory(of: cgroup))
            #expect(time == nil && memory == nil)
        }
    }

    @Test("Numbers are found by whole names at the beginning of a line, and malformed lines are ignored")
    func numbers() {
        let numbers = KeyedNumbers(
            Array("usage_usec 12\nuser_usec 7\nx\n\nuser 9\nbig 99999999999999999999\nlast 5".utf8))
        #expect(numbers["usage_usec"] == 12 && numbers["user_usec"] == 7 && numbers["user"] == 9)
        #expect(numbers["last"] == 5)
        #expect(numbers["usec"] == nil && numbers["x"] == nil && numbers["big"] == nil && numbers["usage_use"] == nil)
        #expect(KeyedNumbers([])["a"] == nil && KeyedNumbers(Array("a ".utf8))["a"] == nil)
    }
}

extension CgroupReader {
    fileprivate mutating func total(of cgroup: Cgroup) -> Duration? {
        cpuTimes(of: cgroup).map { $0.user + $0.system }
    }
}
