// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Threads with the same stack")
struct StackGroupTests {
    /// The sample capture with more threads like the one at an index.
    private func capture(
        _ count: Int, like index: Int, _ change: (Int, inout CapturedThread) -> Void = { _, _ in }
    ) -> CapturedProcess {
        var capture = Samples.capture
        let model = capture.threads[index]
        for number in 0..<count {
            var thread = model
            thread.id = 5_000 + number
            change(number, &thread)
            capture.threads.append(thread)
        }
        return capture
    }

    private func groups(_ report: Report) -> [StackGroup] {
        StackGroup.groups(of: report.stacks.filter { !$0.isFaulting })
    }

    @Test("The text shows their stack once and lists their numbers; a different stack between them stays")
    func once() {
        let capture = capture(6, like: 1) { number, thread in
            if number == 2 { thread.frames[0].address = 0xdead_bee0 }
        }
        let text = TextRenderer.render(Samples.report(capture: capture))
        #expect(text.contains("\nThread 1:\n"))
        #expect(text.contains("[async]\n\nThreads 2–3, 5–7: same stack as thread 1\n\nThread 4:\n"))
        for number in [2, 3, 5, 6, 7] { #expect(!text.contains("\nThread \(number):\n")) }
    }

    @Test("Ten threads with the same calls except for one address are one stack in text, page and JSON")
    func addresses() throws {
        let report = Samples.report(
            capture: capture(9, like: 0) { number, thread in
                thread.frames[1].address += UInt64(number)
                thread.frames[1].imageOffset += UInt64(number)
            })
        #expect(TextRenderer.render(report).contains("\nThreads 3–10: same stack as thread 2\n"))
        #expect(HTMLRenderer.render(report).contains("9 threads alike: 2, 3, 4, 5, 6, 7, 8, 9, 10"))
        let stacks = Explanation(of: report).stacks
        #expect(stacks.map(\.threads) == [[0], [1], Array(2...10)])
        #expect(stacks[2].calls.map(\.function) == stacks[0].calls.map(\.function))
        let json = Explanation(of: report).json.filter { !$0.isWhitespace }
        #expect(json.contains("\"threads\":[2,3,4,5,6,7,8,9,10]"))
    }

    @Test("Two threads are a thread and one like it; a single thread has no such line")
    func two() {
        let report = Samples.report(capture: capture(1, like: 1))
        #expect(TextRenderer.render(report).contains("\nThread 2: same stack as thread 1\n"))
        #expect(!TextRenderer.render(Samples.report()).contains("same stack as"))
    }

    @Test("Names are listed if they differ")
    func names() {
        let names = ["w", "w", "writer"]
        let text = TextRenderer.render(
            Samples.report(capture: capture(3, like: 1) { number, thread in thread.name = names[number] }))
        #expect(text.contains("\nThreads 2–3 (w), 4 (writer): same stack as thread 1\n"))
    }

    @Test("Long lists are broken into lines")
    func lines() {
        let text = TextRenderer.render(
            Samples.report(capture: capture(25, like: 1) { number, thread in thread.name = "w\(number)" }))
        let lines = text.split(separator: "\n").filter { $0.hasSuffix(": same stack as thread 1") }
        #expect(lines.count == 3)
        #expect(lines.last == "Thread 26 (w24): same stack as thread 1")
    }

    @Test("The faulting thread has its own stack, even if others are in the same place")
    func faulting() {
        let text = TextRenderer.render(Samples.report(capture: capture(2, like: 0)))
        #expect(text.contains("\nThread 0 Crashed:\n0   libc.so.6"))
        #expect(text.contains("\nThread 2:\n0   libc.so.6"))
        #expect(text.contains("\nThread 3: same stack as thread 2\n"))
    }

    @Test("Threads without a stack are not grouped, and a report of Apple's has every stack")
    func apart() {
        let empty = capture(2, like: 1) { _, thread in
            thread.frames = []
            thread.asynchronousFrames = []
        }
        #expect(!TextRenderer.render(Samples.report(capture: empty)).contains("same stack as"))
        var report = Samples.report(capture: capture(2, like: 1))
        report.body.linux = nil
        #expect(TextRenderer.render(report).contains("\nThread 3:\n"))
    }

    @Test("A thread that was just woken where others sleep is one of them; one at another instruction is not")
    func woken() {
        func wake(_ thread: inout CapturedThread) {
            thread.state = "R"
            thread.syscall = "running"
        }
        let woken = Samples.report(capture: capture(3, like: 0) { number, thread in if number == 0 { wake(&thread) } })
        #expect(groups(woken).map(\.count) == [1, 3])
        #expect(groups(woken).map(\.wokenCount) == [0, 1])
        #expect(groups(woken).last?.typical.details?.state == "S")
        let page = HTMLRenderer.render(woken)
        #expect(page.contains("3 threads alike: 2, 3, 4 (hang-main)"))
        #expect(page.contains(", 1 just woken"))
        let running = Samples.report(
            capture: capture(3, like: 0) { number, thread in
                guard number == 0 else { return }
                wake(&thread)
                thread.frames[0].imageOffset += 4
            })
        #expect(groups(running).map(\.count) == [1, 1, 2])
        #expect(!HTMLRenderer.render(running).contains("just woken"))
    }
}
