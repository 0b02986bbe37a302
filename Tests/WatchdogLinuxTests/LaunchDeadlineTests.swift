// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The time of a launch")
struct LaunchDeadlineTests {
    private static let limit = Duration.seconds(5)
    private static let moment = Duration.nanoseconds(1)

    /// A launch on virtual time.
    private final class Launch {
        private static let start = Instant(nanoseconds: 1_000_000_000_000)

        private var deadline = LaunchDeadline(limit, from: start)
        private(set) var questions = 0

        /// From the start to the next look.
        var next: Duration { deadline.at - Self.start }

        func isGivenUp(after time: Duration, awaitsCPU: Bool) -> Bool {
            deadline.isOver(at: Self.start + time, awaitsCPU: answer(awaitsCPU))
        }

        func restart(after time: Duration) { deadline.restart(at: Self.start + time) }

        private func answer(_ awaitsCPU: Bool) -> Bool {
            questions += 1
            return awaitsCPU
        }
    }

    @Test("A launch that does not wait for a CPU is given up at its limit, and not a moment earlier")
    func limit() {
        let launch = Launch()
        #expect(launch.next == Self.limit)
        #expect(!launch.isGivenUp(after: Self.limit - Self.moment, awaitsCPU: false))
        #expect(launch.next == Self.limit)
        #expect(launch.isGivenUp(after: Self.limit, awaitsCPU: false))
    }

    @Test("A launch that waits for a CPU is given up at 12 times its limit, and not a moment earlier")
    func waitsForCPU() {
        let launch = Launch()
        for count in 1..<12 {
            #expect(launch.next == Self.limit * count)
            #expect(!launch.isGivenUp(after: Self.limit * count, awaitsCPU: true))
        }
        #expect(launch.next == Self.limit * 12)
        #expect(!launch.isGivenUp(after: Self.limit * 12 - Self.moment, awaitsCPU: true))
        #expect(launch.isGivenUp(after: Self.limit * 12, awaitsCPU: true))
    }

    @Test("A launch that no longer waits for a CPU is given up at the next look")
    func waitsNoLonger() {
        let launch = Launch()
        #expect(!launch.isGivenUp(after: .seconds(6), awaitsCPU: true))
        #expect(launch.next == .seconds(11))
        #expect(!launch.isGivenUp(after: .seconds(11) - Self.moment, awaitsCPU: false))
        #expect(launch.isGivenUp(after: .seconds(11), awaitsCPU: false))
    }

    @Test("Whether it waits for a CPU is asked only where that decides")
    func questions() {
        let launch = Launch()
        #expect(!launch.isGivenUp(after: Self.limit - Self.moment, awaitsCPU: true))
        #expect(launch.questions == 0)
        #expect(!launch.isGivenUp(after: Self.limit, awaitsCPU: true))
        #expect(launch.questions == 1)
        #expect(launch.isGivenUp(after: Self.limit * 12, awaitsCPU: true))
        #expect(launch.questions == 1)
    }

    @Test("A launch that waited for watchdogd gets its limit again, within 12 times its limit")
    func restarted() {
        let launch = Launch()
        launch.restart(after: .seconds(30))
        #expect(launch.next == .seconds(35))
        launch.restart(after: .seconds(20))
        #expect(launch.next == .seconds(35))
        launch.restart(after: .seconds(58))
        #expect(launch.next == .seconds(60))
        #expect(launch.isGivenUp(after: .seconds(60), awaitsCPU: true))
    }
}
