// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogCapture

@Suite("Examinations of processes outside of apps", .reapsChildren)
struct RecentLookTests {
    private static let now = Instant(nanoseconds: 1_000)

    private func capture() -> TrailCapture {
        TrailCapture([], SpareThreads(.inherited), ThreadSeats(limits: TreeCapture.seats), Copiers(nil))
    }

    @Test("one examination serves others until it is too old")
    func time() throws {
        let subject = RecentLooks.Subject([try #require(ProcessStat.read(getpid()))])
        let other = RecentLooks.Subject([try #require(ProcessStat.read(1))])
        var looks = RecentLooks()
        let capture = capture()
        looks.keep(capture, at: subject, Self.now)
        let end = Self.now + TrailCapture.shareTime
        #expect(looks.look(at: subject, at: end - .nanoseconds(1)) === capture)
        #expect(looks.look(at: subject, at: end) == nil)
        #expect(looks.look(at: other, at: Self.now) == nil)
    }

    @Test("an examination that nobody needs any more is not kept")
    func release() throws {
        let subject = RecentLooks.Subject([try #require(ProcessStat.read(getpid()))])
        var looks = RecentLooks()
        do {
            let capture = capture()
            looks.keep(capture, at: subject, Self.now)
            withExtendedLifetime(capture) {}
        }
        #expect(looks.look(at: subject, at: Self.now) == nil)
    }

    @Test("all that share the stacks can take them")
    func sharing() throws {
        let subject = try Subject("threads", "2")
        var configuration = CaptureThreadConfiguration(residentBytes: 0)
        configuration.trailTime = patience
        let thread = try CaptureThread(configuration)
        defer { thread.shutDown() }
        let stat = try #require(ProcessStat.read(subject.process))
        let looks = (1...8).map { thread.look(at: [stat], for: Tenant(app: "\($0)", user: getuid())) }
        for look in looks {
            let isOver = DispatchSemaphore(value: 0)
            look.whenEnded { isOver.signal() }
            try #require(eventually { isOver.wait(timeout: .now()) == .success })
            let members = look.end().members
            #expect(members.map(\.stat.id) == [subject.process])
        }
        #expect(looks.allSatisfy { look in look.end().notes.isEmpty })
    }
}
