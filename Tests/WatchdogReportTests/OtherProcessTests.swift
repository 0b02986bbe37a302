// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogPolicy

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("The other processes of a report")
struct OtherProcessTests {
    private func processes(_ others: [OtherProcess]) throws -> [ProcessDetails] {
        var facts = Samples.facts()
        facts.others = others
        let report = Samples.report(facts)
        #expect(try ReportCoding.decode(ReportCoding.encode(report)) == report)
        return try #require(report.body.linux?.processes)
    }

    @Test("They have their facts, with secrets redacted, and their stacks")
    func facts() throws {
        let processes = try processes(Samples.others)
        #expect(processes.map(\.pid) == [4244, 4250])
        #expect(processes.map(\.parentPid) == [4242, 4244])
        #expect(processes[0].commandLine.prefix(2) == ["/usr/bin/hang-main", "--worker"])
        #expect(!processes[0].commandLine.joined().contains("hunter2"))
        #expect(processes[0].waits?.first?.holder?.process == 4242)
        #expect(processes[0].threads.map(\.id) == [4244])
        #expect(processes[0].threads.map(\.triggered) == [nil])
        #expect(processes[0].threads.map(\.threadState) == [nil])
        #expect(processes[0].threadDetails.map(\.id) == [4244])
        #expect(processes[1].threads == [])
        #expect(processes[1].capture == nil)
        #expect(processes[1].failure == "there was no time")
        #expect(!processes[1].name.contains("\n"))
    }

    @Test("They keep only the images of their frames")
    func images() throws {
        let worker = try #require(try processes(Samples.others).first)
        #expect(worker.usedImages.map(\.name) == ["libc.so.6"])
        #expect(worker.buildIDs == ["93ad82c85c21cce1e42ad4f4"])
        #expect(worker.stacks.first?.calls.map(\.function) == ["recv", "__libc_start_call_main"])
        #expect(worker.stacks.first?.calls.map(\.image) == ["libc.so.6", "libc.so.6"])
        #expect(worker.stacks.first?.calls.first?.address == 0x7f2a_9cf0_f2ad)
    }

    @Test("A frame outside of every image keeps its address")
    func unknownImage() throws {
        var other = Samples.others[0]
        other.capture?.threads[0].frames[0].imageIndex = 9
        let worker = try #require(try processes([other]).first)
        #expect(worker.stacks.first?.calls.first?.address == 0x7f2a_9cf0_f2ad)
        #expect(worker.usedImages.last == .absent)
    }

    @Test("Hundreds of threads in endless recursion do not fill the file")
    func limits() throws {
        var other = Samples.others[0]
        let frame = Frame(
            address: 0x5581_0000_1234, imageIndex: 0, imageOffset: 0x1234, symbol: String(repeating: "x", count: 1_000),
            symbolLocation: 0, trust: .cfi)
        let thread = CapturedThread(
            id: 4244, name: "worker", state: "S", frames: Array(repeating: frame, count: 2_000))
        other.capture?.threads = Array(repeating: thread, count: 200)
        let processes = try processes(Array(repeating: other, count: 80))
        #expect(processes.count == ReportLimits.processes)
        let frames = processes.flatMap(\.threads).map(\.frames.count).reduce(0, +)
        #expect(frames > 1_000 && frames < 10_000)
        #expect(processes[0].capture?.notes.isEmpty == false)
        #expect((processes[0].capture?.notes.count ?? 0) <= 64)
    }
}
