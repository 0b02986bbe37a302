// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogLaunch

@Suite("Kills by the OOM killer")
struct MemoryKillTests {
    private func at(_ seconds: Int64, _ nanoseconds: Int64 = 0) -> Instant {
        Instant(nanoseconds: seconds * 1_000_000_000 + nanoseconds)
    }

    @Test("Memory kills counted since the launch are recent for half a minute, and unknown afterwards")
    func launch() {
        var notes = MemoryKillNotes()
        #expect(notes.recent(of: 1, at: at(0)) == nil)
        notes.launched(2, at: at(0))
        #expect(notes.recent(of: 2, at: at(0)) == 0)
        #expect(notes.recent(of: 3, at: at(0)) == 1)
        #expect(notes.recent(of: 3, at: at(30)) == 1)
        #expect(notes.recent(of: 3, at: at(30, 1)) == nil)
    }

    @Test("The counter is sampled every five seconds")
    func interval() {
        var notes = MemoryKillNotes()
        #expect(notes.isDue(at: at(0)))
        notes.launched(0, at: at(0))
        #expect(!notes.isDue(at: at(5, -1)))
        #expect(notes.isDue(at: at(5)))
        notes.note(7, at: at(5, -1))
        #expect(notes.recent(of: 7, at: at(5)) == 7, "too early, and so not taken")
    }

    @Test("A missing counter is not read more often than an existing one", arguments: [true, false])
    func uncounted(isLaunched: Bool) {
        var notes = MemoryKillNotes()
        if isLaunched { notes.launched(nil, at: at(0)) } else { notes.note(nil, at: at(0)) }
        #expect(!notes.isDue(at: at(5, -1)))
        #expect(notes.isDue(at: at(5)))
        #expect(notes.recent(of: 1, at: at(5)) == nil)
    }

    @Test("A sample between the kill and the exit does not hide the kill; one before it does not misattribute it")
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

    @Test("After a takeover, only a sample of the last seconds counts")
    func resumed() {
        var notes = MemoryKillNotes()
        notes.note(3, at: at(0))
        #expect(notes.recent(of: 3, at: at(5, -1)) == nil)
        #expect(notes.recent(of: 3, at: at(5)) == 0)
        #expect(notes.recent(of: 4, at: at(5)) == 1)
    }
}
