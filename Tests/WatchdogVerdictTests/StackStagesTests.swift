// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("The main thread's stack over time")
struct StackStagesTests {
    @Test("the same stack at both ends and in between is reported as unchanged")
    func sameStages() {
        let stages = StackStages(
            samples: Causes.samples(isMoving: false), frames: Samples.capture.threads[0].frames, main: 4242,
            first: .seconds(5), last: .seconds(10))
        #expect(stages?.isSame == true)
        #expect(
            stages?.line(threadIndex: 0)
                == "Stages: thread 0: same 5 frames at 5.00 s and 10.00 s, and in all 10 samples")
    }

    @Test("a changed stack is reported with its unchanged part")
    func movedStages() {
        let stages = StackStages(
            samples: Causes.samples(isMoving: true), frames: Samples.capture.threads[0].frames, main: 4242,
            first: .seconds(5), last: .seconds(10))
        #expect(stages?.isSame == false)
        #expect(stages?.sameFrames == 4)
        #expect(stages?.line(threadIndex: 0).contains("outermost 4 of 5 frames the same") == true)
    }

    @Test("a deep stack truncated earlier than the final one is unchanged if the common part is")
    func cutStages() {
        func frames(_ count: Int, first: UInt64 = 1) -> [Frame] {
            (0..<count).map { Frame(address: $0 == 0 ? first : 2, imageIndex: 0, imageOffset: 1, trust: .cfi) }
        }
        func stages(_ earlier: [Frame], _ later: [Frame]) -> StackStages? {
            var samples = Causes.samples(isMoving: false)
            for index in samples.stacks.indices { samples.stacks[index].frames = earlier }
            return StackStages(samples: samples, frames: later, main: 4242, first: .zero, last: .seconds(1))
        }
        #expect(stages(frames(64), frames(257))?.isSame == true)
        #expect(stages(frames(64), frames(257))?.sameFrames == 64)
        #expect(stages(frames(64), frames(257, first: 3))?.isSame == false)
        #expect(stages(frames(5), frames(6))?.isSame == false)
        // 32 calls may be truncated, 31 are not.
        #expect(stages(frames(32), frames(33))?.isSame == true)
        #expect(stages(frames(31), frames(32))?.isSame == false)
    }

    @Test("a truncated stack that differs yields nothing about the outermost frames, but its samples still match")
    func cutAndMoved() throws {
        func frames(_ count: Int, first: UInt64) -> [Frame] {
            (0..<count).map { Frame(address: $0 == 0 ? first : 2, imageIndex: 0, imageOffset: 1, trust: .cfi) }
        }
        for (earlier, later) in [(257, 64), (64, 257)] {
            var samples = Causes.samples(isMoving: false)
            for index in samples.stacks.indices { samples.stacks[index].frames = frames(earlier, first: 1) }
            let stages = try #require(
                StackStages(
                    samples: samples, frames: frames(later, first: 3), main: 4242, first: .zero, last: .seconds(1)))
            #expect(stages.sameLooks == stages.looks)
            #expect(stages.sameFrames == 0 && stages.firstFrames == earlier && stages.lastFrames == later)
            #expect(
                stages.line(threadIndex: 0)
                    == "Stages: thread 0 moved between 0.00 s and 1.00 s")
        }
    }

    @Test("without a stack at one of the ends nothing is compared")
    func missingStage() {
        let samples = Causes.samples(isMoving: false)
        #expect(StackStages(samples: samples, frames: [], main: 4242, first: .zero, last: .seconds(1)) == nil)
        let frames = Samples.capture.threads[0].frames
        #expect(StackStages(samples: samples, frames: frames, main: 1, first: .zero, last: .seconds(1)) == nil)
    }
}
