// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogSupervisor

@Suite("Kills for lack of memory")
struct MemoryKillTests {
    private func at(_ seconds: Int64, _ nanoseconds: Int64 = 0) -> Instant {
        Instant(nanoseconds: seconds * 1_000_000_000 + nanoseconds)
    }

    @Test("What was counted since the launch was recent for half a minute, and is not known then")
    func launch() {
        var notes = MemoryKillNotes()
        #expect(notes.recent(of: 1, at: at(0)) == nil)
        notes.launched(2, at: at(0))
        #expect(notes.recent(of: 2, at: at(0)) == 0)
        #expect(notes.recent(of: 3, at: at(0)) == 1)
        #expect(notes.recent(of: 3, at: at(30)) == 1)
        #expect(notes.recent(of: 3, at: at(30, 1)) == nil)
    }

    @Test("A note is taken every five seconds")
    func interval() {
        var notes = MemoryKillNotes()
        #expect(notes.isDue(at: at(0)))
        notes.launched(0, at: at(0))
        #expect(!notes.isDue(at: at(5, -1)))
        #expect(notes.isDue(at: at(5)))
        notes.note(7, at: at(5, -1))
        #expect(notes.recent(of: 7, at: at(5)) == 7, "too early, and so not taken")
    }

    @Test("Where nothing counts, it is asked for no more often than elsewhere", arguments: [true, false])
    func uncounted(isLaunched: Bool) {
        var notes = MemoryKillNotes()
        if isLaunched { notes.launched(nil, at: at(0)) } else { notes.note(nil, at: at(0)) }
        #expect(!notes.isDue(at: at(5, -1)))
        #expect(notes.isDue(at: at(5)))
        #expect(notes.recent(of: 1, at: at(5)) == nil)
    }

    @Test("A note between the kill and the end does not hide the kill; one from before it does not make it another's")
    func between() {
        var notes = MemoryKillNotes()
        notes.launched(0, at: at(0))
        notes.note(1, at: at(100))
        #expect(notes.recent(of: 1, at: at(105, -1)) == nil, "the launch is too long ago")
        #expect(notes.recent(of: 1, at: at(105)) == 0)
        notes.note(2, at: at(106))
        #expect(notes.recent(of: 2, at: at(111, -1)) == 1)
        #expect(notes.recent(of: 2, at: at(111)) == 0)
    }

    @Test("After a succession only a note of some seconds tells anything")
    func resumed() {
        var notes = MemoryKillNotes()
        notes.note(3, at: at(0))
        #expect(notes.recent(of: 3, at: at(5, -1)) == nil)
        #expect(notes.recent(of: 3, at: at(5)) == 0)
        #expect(notes.recent(of: 4, at: at(5)) == 1)
    }
}
