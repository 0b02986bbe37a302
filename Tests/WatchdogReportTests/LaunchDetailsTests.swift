// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing

@testable import WatchdogReport

@Suite("Where the time of a launch went")
struct LaunchDetailsTests {
    private func details(
        _ marks: [(name: String, start: Int64, length: Int64?, isOpen: Bool, isMain: Bool)], seconds: Int64 = 20
    ) -> LaunchDetails {
        LaunchDetails(
            isReady: false, nanoseconds: seconds * 1_000_000_000, phases: [],
            signposts: marks.map { mark in
                LaunchDetails.Signpost(
                    name: mark.name, startNanoseconds: mark.start * 1_000_000,
                    nanoseconds: mark.length.map { $0 * 1_000_000 }, isOpen: mark.isOpen, isOnMainThread: mark.isMain)
            })
    }

    @Test("names the longest marks of the main thread, their shares, the innermost open one, and what is unmarked")
    func killed() {
        #expect(
            Causes.killedLaunch.spent
                == "friends.json 8.10 s (41 %), photos 9.70 s (49 %), photo 6 still open, 2.16 s unmarked")
    }

    @Test("says that a mark is open where it is named")
    func openAndNamed() {
        #expect(
            details([("photos", 0, 20_000, true, true)]).spent == "photos 20.00 s (100 %), still open")
    }

    @Test("adds up marks of one name")
    func sameName() {
        let marks = (0..<8).map { ("photo", Int64($0) * 2_000, Optional(Int64(1_000)), $0 == 7, true) }
        #expect(details(marks).spent == "photo ×8 8.00 s (40 %), still open, 12.00 s unmarked")
    }

    @Test("counts the other threads only if the main thread marked nothing that lasted")
    func otherThreads() {
        let marks: [(String, Int64, Int64?, Bool, Bool)] = [
            ("work", 0, 20_000, false, false), ("tap", 5, nil, false, true),
        ]
        #expect(details(marks).spent == "work 20.00 s (100 %)")
        #expect(details(marks + [("main", 0, 19_000, false, true)]).spent == "main 19.00 s (95 %)")
        #expect(details([("tap", 5, nil, false, true)]).spent == nil)
    }

    @Test("of equal marks the first is the outer one, and none counts twice")
    func equal() {
        let marks: [(String, Int64, Int64?, Bool, Bool)] = [
            ("a", 0, 10_000, false, true), ("b", 0, 10_000, false, true),
        ]
        #expect(details(marks).spent == "a 10.00 s (50 %), 10.00 s unmarked")
    }

    @Test("survives numbers that no launch has", arguments: [Int64.min, -1, 0, .max])
    func hostile(number: Int64) {
        var details = details([("a", 0, 1, true, true)])
        details.nanoseconds = number
        details.signposts[0].startNanoseconds = number
        details.signposts[0].nanoseconds = number
        details.phases = [.init(name: "x", startNanoseconds: number, nanoseconds: number, isOpen: true)]
        details.tasks = [.init(name: "t", startNanoseconds: number, nanoseconds: number, isOpen: true)]
        #expect(details.lines.count == 3)
    }
}
