// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

@testable import WatchdogCapture

@Suite("A snapshot of a real process")
struct SnapshotTakeTests {
    @Test("holds the registers and stack of a thread blocked in read")
    func blockedInRead() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process)
        let contents = try snapshot.contents()
        #expect(snapshot.method == .ptrace)
        #expect(snapshot.methodReason == nil)
        #expect(contents.threads.count == 1)
        let thread = try #require(contents.threads.first)
        #expect(thread.id == subject.process)
        #expect(thread.state == "S")
        #expect(thread.registerSource == .ptrace)
        let marker = try #require(subject.markers.first)
        #expect(thread.stack?.word(at: marker.address) == marker.value)
        #expect(try subject.echo(7) == [7])
    }
}
