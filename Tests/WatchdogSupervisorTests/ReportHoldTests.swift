// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("Reports that wait for kills")
struct ReportHoldTests {
    private let queue = DispatchQueue(label: "reports")
    private final class Log: Sendable {
        private let entries = Mutex<[String]>([])
        var all: [String] { entries.withLock(\.self) }
        func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    @Test("are made after the last of fifty kills that are due")
    func last() {
        let hold = ReportHold(queue, limit: patience)
        let log = Log()
        var due: [DueKill] = (1...50).map { _ in hold.killIsDue() }
        for number in 1...50 {
            queue.async { log.add("report") }
            #expect(hold.isKillDue)
            log.add("kill \(number)")
            due.removeLast()
        }
        #expect(!hold.isKillDue)
        #expect(eventually { log.all.count == 100 })
        #expect(log.all == (1...50).map { "kill \($0)" } + (1...50).map { _ in "report" })
    }

    @Test("wait again for the next kills")
    func again() {
        let hold = ReportHold(queue, limit: patience)
        let log = Log()
        for number in 1...3 {
            var due: DueKill? = hold.killIsDue()
            queue.async { log.add("report \(number)") }
            log.add("kill \(number)")
            withExtendedLifetime(due) {}
            due = nil
            #expect(eventually { log.all.count == 2 * number })
        }
        #expect(log.all == (1...3).flatMap { ["kill \($0)", "report \($0)"] })
    }

    @Test("are made after the limit, although a kill is due, and when there is no writer anymore")
    func limit() {
        let log = Log()
        var hold: ReportHold? = ReportHold(queue, limit: .milliseconds(1))
        var due = hold?.killIsDue()
        queue.async { log.add("report") }
        #expect(eventually { log.all.count == 1 })
        #expect(hold?.isKillDue == true)
        withExtendedLifetime(due) {}
        due = nil
        hold = ReportHold(queue, limit: patience)
        due = hold?.killIsDue()
        queue.async { log.add("report") }
        #expect(log.all.count == 1)
        hold = nil
        due = nil
        #expect(eventually { log.all.count == 2 })
    }
}
