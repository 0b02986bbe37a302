// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Samples of a process")
struct SampleTests {
    private static func frame(_ symbol: String, _ line: Int? = nil) -> Frame {
        Frame(
            address: 0x1000, imageIndex: 0, imageOffset: 0x10, symbol: symbol, symbolLocation: 4,
            sourceFile: line == nil ? nil : "/src/app.c", sourceLine: line, trust: .cfi)
    }

    private static let futex = "202 0x1 0x0 0x2 0x0 0x0 0x0 0x7ffe 0x7f00"

    private static func samples() -> ProcessSamples {
        let image = BinaryImage(
            base: 0xff0, size: 0x1000, buildID: "ab12", path: "/bin/app", name: "app", architecture: "x86_64")
        let main = frame("main", 9)
        var samples = ProcessSamples(
            process: 7, name: "app", path: "/bin/app", time: WallTime(seconds: 0), interval: .milliseconds(10),
            duration: .milliseconds(90), sampleCount: 10,
            stacks: [
                .init(state: "R", syscall: "running", frames: [frame("compute", 3), main]),
                .init(state: "S", syscall: futex, frames: [frame("lock;it", 4), main]),
                .init(state: "R", syscall: "running", frames: [frame("compute", 5), main]),
                .init(state: "S", syscall: futex, frames: [frame("work"), frame("start")]),
            ],
            images: [image])
        samples.threads = [
            .init(id: 8, name: "pool", runs: [.init(first: 0, count: 10, stack: 3)]),
            .init(id: 9, name: "pool", runs: [.init(first: 0, count: 10, stack: 3)]),
            .init(
                id: 7, name: "app", runTime: .milliseconds(60),
                runs: [
                    .init(first: 0, count: 5, stack: 0), .init(first: 5, count: 4, stack: 1),
                    .init(first: 9, count: 1, stack: 2),
                ]),
        ]
        return samples
    }

    @Test("the call tree has the main thread first, the heaviest call first, and places as leaves")
    func tree() throws {
        let samples = Self.samples()
        let main = try #require(samples.threadsByWeight.first)
        #expect(main.id == 7)
        let tree = CallTree(of: main, in: samples)
        #expect(tree.nodes[0].count == 10)
        #expect(tree.heaviestPath.map(\.name) == ["main", "compute", "on CPU"])
        #expect(tree.heaviestPath.map(\.count) == [10, 6, 6])
        #expect(tree.heaviestPath[0].source == "app.c:9")
        #expect(tree.heaviestPath[1].source == nil, "two lines of one function are no line")
    }

    @Test("the text counts samples, groups threads with the same stacks, and names each one's place")
    func text() {
        let text = Self.samples().text
        #expect(text.hasPrefix("Sampled app [7]\n"))
        #expect(text.contains("\nSamples:             10 in "))
        #expect(text.contains("  10 Thread 7 \"app\", main\n     on CPU 60.0 %, blocked in futex 40.0 %; ran 60.00 ms"))
        #expect(text.contains("  10 each of Threads 8 \"pool\", 9 \"pool\"\n"))
        #expect(text.contains("   6     compute  (in app)\n"))
        #expect(text.contains("  20 work  (in app)  [blocked in futex]\n"))
        #expect(text.contains("0xff0 -             0x1fef app <ab12> /bin/app\n"))
    }

    @Test("collapsed stacks are lines that end in a count, and no name can add a level")
    func collapsed() {
        #expect(
            Self.samples().collapsed == """
                app-7;main;compute;[on CPU] 6
                app-7;main;lock:it;[blocked in futex] 4
                pool-8;start;work;[blocked in futex] 10
                pool-9;start;work;[blocked in futex] 10

                """)
    }

    @Test("speedscope gets a profile for each thread, weighted by time")
    func speedscope() throws {
        struct File: Decodable {
            struct Frame: Decodable {
                var name: String
            }
            struct Shared: Decodable {
                var frames: [Frame]
            }
            struct Profile: Decodable {
                var type: String
                var endValue: Int
                var samples: [[Int]]
                var weights: [Int]
            }
            var shared: Shared
            var profiles: [Profile]
        }
        let file = try JSONDecoder().decode(File.self, from: Data(Self.samples().speedscope.utf8))
        #expect(file.profiles.map(\.type) == ["sampled", "sampled", "sampled"])
        #expect(file.profiles[0].weights == [50_000, 40_000, 10_000])
        #expect(file.profiles[0].endValue == 100_000)
        #expect(
            file.profiles[0].samples[1].map { file.shared.frames[$0].name } == [
                "main", "lock;it", "[blocked in futex]",
            ])
    }

    @Test("a thread without a stack is a separate leaf")
    func withoutStack() {
        var samples = Self.samples()
        samples.stacks[0].frames = []
        #expect(samples.collapsed.contains("app-7;[on CPU] 5\n"))
    }
}
