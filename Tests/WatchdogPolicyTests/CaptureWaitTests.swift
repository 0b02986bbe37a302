// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("The wait of a capture for an examiner")
struct CaptureWaitTests {
    /// One wait on virtual time, in which deadlines are delivered after everything else of the same instant.
    private struct Life {
        private static let start = Instant(nanoseconds: 1_000_000_000_000)

        private(set) var wait = CaptureWait()
        private(set) var beginnings: [Duration] = []
        /// How many of them came without an answer.
        private(set) var timeouts = 0
        private var elapsed = Duration.zero

        mutating func at(_ time: Duration, _ events: CaptureWait.Event...) {
            while let deadline = wait.deadline.map({ $0 - Self.start }), max(deadline, elapsed) < time {
                elapsed = max(deadline, elapsed)
                tell(.deadlineReached)
            }
            elapsed = time
            for event in events { tell(event) }
        }

        private mutating func tell(_ event: CaptureWait.Event) {
            guard wait.handle(event, at: Self.start + elapsed) else { return }
            beginnings.append(elapsed)
            if event == .deadlineReached { timeouts += 1 }
        }
    }

    /// Whether an app hangs, whose examination has confirmed that, or is healthy and only looked at.
    enum Occasion: CaseIterable {
        case incident
        case request

        /// Since when the question has been open when the capture is requested: the incident may be decided without
        /// an answer to the examination.
        var head: Duration { self == .incident ? .milliseconds(250) : .zero }
    }

    private func asked(_ occasion: Occasion = .incident) -> Life {
        var life = Life()
        life.at(.zero, .asked(.call))
        life.at(occasion.head, .asked(.trail), .captureRequested)
        return life
    }

    @Test("A capture of a process that nobody was asked about begins at once")
    func nothingAsked() {
        var life = Life()
        life.at(.seconds(1), .captureRequested)
        #expect(life.beginnings == [.seconds(1)])
        #expect(life.wait.deadline == nil)
    }

    @Test("One that was examined before begins at once")
    func answeredBefore() {
        var life = Life()
        life.at(.zero, .asked(.call))
        life.at(.milliseconds(1), .answered(.call))
        #expect(life.beginnings == [])
        life.at(.seconds(1), .captureRequested)
        #expect(life.beginnings == [.seconds(1)])
    }

    @Test("An answer within the patience is waited for, for an incident and on request", arguments: Occasion.allCases)
    func answerInTime(_ occasion: Occasion) {
        for time in [Duration.milliseconds(1), CaptureWait.patience - .nanosecond, CaptureWait.patience] {
            var life = asked(occasion)
            life.at(occasion.head + time, .answered(.call))
            #expect(life.beginnings == [])
            life.at(occasion.head + time, .answered(.trail))
            #expect(life.beginnings == [occasion.head + time])
            life.at(.seconds(9))
            #expect(life.beginnings.count == 1)
            #expect(life.timeouts == 0)
        }
    }

    @Test("A later one is not, to the nanosecond", arguments: Occasion.allCases)
    func answerTooLate(_ occasion: Occasion) {
        let end = occasion.head + CaptureWait.patience
        var life = asked(occasion)
        life.at(end)
        #expect(life.beginnings == [])
        life.at(end + .nanosecond, .answered(.call), .answered(.trail))
        #expect(life.beginnings == [end])
        #expect(life.timeouts == 1)
        #expect(life.wait.deadline == nil)
    }

    @Test("A trail alone is waited for within the patience, and not beyond")
    func trail() {
        var life = asked()
        life.at(.milliseconds(251), .answered(.call))
        var late = life
        life.at(.milliseconds(280), .answered(.trail))
        #expect(life.beginnings == [.milliseconds(280)])
        #expect(life.timeouts == 0)
        late.at(.milliseconds(280) + .nanosecond, .answered(.trail))
        #expect(late.beginnings == [.milliseconds(280)])
        #expect(late.timeouts == 1)
    }

    @Test("Once the first question is answered, the second one has until the end of the search, to the nanosecond")
    func search() {
        var life = Life()
        life.at(.zero, .asked(.call), .captureRequested)
        life.at(CaptureWait.patience, .answeredInPart)
        var late = life
        life.at(CaptureWait.searchPatience, .answered(.call))
        #expect(life.beginnings == [CaptureWait.searchPatience])
        #expect(life.timeouts == 0)
        late.at(CaptureWait.searchPatience + .nanosecond, .answered(.call))
        #expect(late.beginnings == [CaptureWait.searchPatience])
        #expect(late.timeouts == 1)
    }

    @Test("If it is not answered within the patience, nothing more is waited for")
    func searchTooLate() {
        var life = Life()
        life.at(.zero, .asked(.call), .captureRequested)
        life.at(CaptureWait.patience + .nanosecond, .answeredInPart)
        #expect(life.beginnings == [CaptureWait.patience])
    }

    @Test("While it searches, the trail may come as well")
    func trailDuringSearch() {
        var life = Life()
        life.at(.zero, .asked(.call), .asked(.trail), .captureRequested)
        life.at(.milliseconds(5), .answeredInPart)
        life.at(.milliseconds(40), .answered(.call))
        #expect(life.beginnings == [])
        var late = life
        life.at(.milliseconds(50), .answered(.trail))
        #expect(life.beginnings == [.milliseconds(50)])
        late.at(.seconds(1))
        #expect(late.beginnings == [CaptureWait.searchPatience])
    }

    @Test("A deadline that comes early changes nothing")
    func early() {
        var life = asked()
        life.at(.milliseconds(280) - .nanosecond, .deadlineReached)
        #expect(life.beginnings == [])
        #expect(life.wait.deadline != nil)
    }

    @Test("Another capture of what is still being examined has its own patience")
    func again() {
        var life = asked()
        life.at(.seconds(1), .captureRequested)
        #expect(life.beginnings == [.milliseconds(280)])
        life.at(.seconds(2))
        #expect(life.beginnings == [.milliseconds(280), .milliseconds(1_030)])
    }
}
