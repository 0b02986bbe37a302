// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Drawings on a page")
struct DrawingTests {
    private func body(_ name: String) throws -> ReportBody {
        try #require((Causes.all + Samples.goldens).first { $0.name == name }?.report.body)
    }

    // MARK: - Wait graph

    @Test("A deadlock is a circle of threads and locks, each labeled")
    func deadlock() throws {
        let graph = try #require(WaitGraph(try body("deadlock")))
        #expect(graph.nodes.map(\.title) == ["Thread 0 \"hang-main\"", "mutex", "Thread 1 \"indexer\"", "mutex"])
        #expect(graph.edges.map { [$0.from, $0.to] } == [[0, 1], [1, 2], [2, 3], [3, 0]])
        #expect(graph.edges.allSatisfy { $0.isDeadlocked })
        #expect(graph.nodes.allSatisfy { $0.isDeadlocked })
        #expect(graph.sentences.contains { $0.hasPrefix("Deadlock: ") })
        let svg = WaitGraphDrawing(graph).markup.string
        #expect(svg.contains("aria-label=\"Who waits for whom. Deadlock. "))
        #expect(svg.contains("held by: deadlock"))
    }

    @Test("A peer that does not answer ends the chain; a report without waits has no graph")
    func peer() throws {
        let graph = try #require(WaitGraph(try body("tcp-peer")))
        #expect(graph.nodes.map(\.kind) == [.thread, .resource])
        #expect(!graph.isDeadlock)
        #expect(WaitGraph(try body("spinning")) == nil)
        #expect(WaitGraph(try body("process-exit")) == nil)
    }

    @Test("A single wait has neither a section nor a link to one; a chain has both", arguments: [1, 2])
    func section(edges: Int) throws {
        let name = edges == 1 ? "tcp-peer" : "python-lock"
        let report = try #require(Causes.all.first { $0.name == name }?.report)
        #expect(WaitGraph(report.body)?.edges.count == edges)
        let page = HTMLRenderer.render(report)
        #expect(page.contains("id=\"waits\"") == (edges > 1))
        #expect(page.contains("href=\"#waits\"") == (edges > 1))
    }

    @Test("Waits known only from names on the stacks are drawn as likely")
    func likely() throws {
        let graph = try #require(WaitGraph(try body("python-lock")))
        #expect(graph.edges.map(\.isLikely) == [false, true])
        #expect(graph.nodes.last?.title == "Thread 1 \"crunch\"")
        #expect(WaitGraphDrawing(graph).markup.string.contains("arrow likely"))
    }

    @Test("A worker's wait is drawn with the master that waits for it, but not with strangers")
    func processes() throws {
        var body = try body("processes")
        let graph = try #require(WaitGraph(body))
        #expect(
            graph.nodes.map(\.title)
                == ["Thread 0 \"hang-main\"", "Process 4244 \"worker\"", "fd 5: pipe", "This process \"hang-main\""])
        #expect(graph.edges.map { [$0.from, $0.to] } == [[0, 1], [1, 2], [2, 3]])
        #expect(graph.sentences.last?.hasPrefix("Process 4244 \"worker\" waits: fd 5: pipe") == true)
        body.linux?.waits?[0].holder?.process = 9
        body.linux?.processes?[0].waits?[0].holder?.process = 8
        #expect(WaitGraph(body)?.edges.count == 1)
    }

    @Test("Any chain from a file yields a drawing of bounded size")
    func hostileChain() throws {
        var body = try body("deadlock")
        let wait = try #require(body.linux?.waits?.first)
        body.linux?.waits = (0..<5_000).map { index in
            var wait = wait
            wait.process = index % 3 == 0 ? .max : index
            wait.thread = index % 5 == 0 ? .min : index
            wait.name = String(repeating: "n\u{1b}", count: 4_000)
            wait.subject = String(repeating: "<é> ", count: 4_000)
            wait.holder?.thread = (index * 7) % 11
            return wait
        }
        let graph = try #require(WaitGraph(body))
        let drawing = WaitGraphDrawing(graph).markup.string
        #expect(graph.nodes.count <= 48)
        #expect(drawing.utf8.count < 64 << 10 + graph.sentences.reduce(0) { $0 + 6 * $1.utf8.count })
        #expect(!drawing.contains("\u{1b}"))
    }

    @Test("Long texts are wrapped at spaces, and truncated after a few lines", arguments: [8, 20, 43])
    func wrapping(columns: Int) {
        let text =
            "fd 7: TCP [2001:db8::1]:51234 → [2001:db8::2]:8080, ESTABLISHED, nothing received, 12 not acknowledged"
        let lines = WaitGraphDrawing.wrapped(text, columns: columns)
        #expect(lines.allSatisfy { $0.count <= columns })
        #expect(lines.count <= 5)
        if columns == 43 {
            #expect(lines.joined(separator: " ") == text)
        } else {
            #expect(lines.last?.hasSuffix("...") == true)
        }
        #expect(WaitGraphDrawing.wrapped("", columns: columns) == [])
    }

    // MARK: - Timeline

    @Test("The allowance's lane shows each added part, and the time beyond the deadline")
    func allowance() throws {
        let lane = try #require(Timeline(try body("tcp-peer"))?.lanes.first)
        #expect(lane.title == "Allowance: 10.00 s + 2.00 s + 1.50 s")
        #expect(lane.bars.map(\.style) == [.allowed, .extended, .paused, .over])
        #expect(zip(lane.bars, lane.bars.dropFirst()).allSatisfy { $0.to == $1.from })
        #expect(lane.bars.last?.to == 13_550_000_000)
    }

    @Test("A crash has no allowance, and so no timeline, even if a damaged report lacks its exit")
    func crash() throws {
        var body = try body("crash-core")
        #expect(Timeline(body) == nil)
        body.linux?.crash = nil
        #expect(Timeline(body) == nil)
    }

    @Test("An unanswered ping is linked to the end, an answered one to its answer")
    func pings() {
        let unanswered = TimelineLane(
            pings: PingSummary(
                sent: 2, answered: 1, sinceLastAnswerNanoseconds: 900, sinceLastPingNanoseconds: 500), elapsed: 500)
        #expect(unanswered?.links == [.init(from: 0, to: 500, isAnswered: false)])
        #expect(unanswered?.dots == [.init(at: 0, isFilled: false), .init(at: -400, isFilled: true)])
        let answered = TimelineLane(
            pings: PingSummary(
                sent: 2, answered: 2, sinceLastAnswerNanoseconds: 100, sinceLastPingNanoseconds: 500), elapsed: 500)
        #expect(answered?.links == [.init(from: 0, to: 400, isAnswered: true)])
        #expect(TimelineLane(pings: PingSummary(sent: 2, answered: 0), elapsed: 500) == nil, "no times, no lane")
        #expect(TimelineLane(pings: nil, elapsed: 500) == nil)
    }

    @Test("Each failed probe has its start and end on a lane; the first and the last are moments")
    func probes() throws {
        var missed = MissedDetails(.probe, of: "tcp:1", failure: "connection refused", count: 3)
        #expect(TimelineLane(probes: missed, elapsed: 7_000) == nil, "older reports have no times")
        missed.add([
            .init(sinceNanoseconds: 7_000, durationNanoseconds: 1_000),
            .init(sinceNanoseconds: 4_000, durationNanoseconds: 1_000),
            .init(sinceNanoseconds: 1_000, durationNanoseconds: 1_000, reason: "connection refused"),
        ])
        let lane = try #require(TimelineLane(probes: missed, elapsed: 7_000))
        #expect(lane.title == "Probes of tcp:1: 3 failed")
        #expect(lane.links.map(\.from) == [0, 3_000, 6_000] && lane.links.map(\.to) == [1_000, 4_000, 7_000])
        #expect(lane.links.allSatisfy { !$0.isAnswered } && lane.dots.allSatisfy { !$0.isFilled })
        var body = try body("tcp-peer")
        body.linux?.missed = missed
        let moments = try #require(Timeline(body)).moments.map(\.name).filter { $0.contains("probe") }
        #expect(
            moments == ["first failed probe: no answer in less than 0.1 ms", "last failed probe: connection refused"])
        let times = "failed 0.00 s, 0.00 s and 0.00 s before the stacks were captured; the last one took 0.00 s"
        #expect(missed.times == times)
    }

    @Test("Failed probes from a file, whatever their times, stay on the drawing and are few")
    func hostileProbes() throws {
        var body = try body("tcp-peer")
        var missed = MissedDetails(.probe, of: "x", count: .max)
        let numbers: [Int64] = [.min, -1, 0, 1, 1 << 61, .max]
        missed.add(
            numbers.flatMap { since in
                numbers.map { .init(sinceNanoseconds: since, durationNanoseconds: $0, reason: "r") }
            })
        #expect(missed.failures?.count == MissedDetails.mostFailures)
        body.linux?.missed = missed
        let timeline = try #require(Timeline(body))
        for lane in timeline.lanes where lane.title.hasPrefix("Probes") {
            for link in lane.links { #expect((0...timeline.elapsed).contains(link.to)) }
        }
    }

    @Test("Counters yield shares of a lane's height, never moments")
    func average() throws {
        let lane = try #require(Timeline(try body("starved"))?.lanes.first { $0.title.contains("average") })
        #expect(lane.bars.map(\.style) == [.running, .waiting, .asleep])
        #expect(lane.bars.map(\.height) == [0..<100, 100..<950, 950..<1_000])
        #expect(Set(lane.bars.map(\.from)).count == 1)
        #expect(Timeline(try body("unknown"))?.lanes.contains { $0.title.contains("average") } == false)
    }

    @Test("Each sample has its place in time and its state; the same stack has the same letter")
    func looks() throws {
        let lane = try #require(Timeline(try body("spinning"))?.lanes.last)
        #expect(lane.bars.map(\.style) == [.runnable, .runnable])
        #expect(lane.bars.map(\.label) == ["A", "B"])
        #expect(lane.bars.first?.from == 500_000_000, "half an interval before the first look")
        #expect(lane.bars.first?.to == lane.bars.last?.from)
        var body = try body("spinning")
        body.linux?.samples?.spans = nil
        #expect(Timeline(body)?.lanes.contains { $0.title.contains("look") } == false, "older reports have none")
    }

    @Test("Samples from a file, however numbered, stay on the drawing")
    func hostileLooks() throws {
        var body = try body("spinning")
        let numbers: [Int] = [.min, -1, 0, 1, 1 << 40, .max]
        body.linux?.samples?.spans = numbers.flatMap { first in
            numbers.flatMap { count in numbers.map { SampleDetails.Span(first: first, count: count, stack: $0) } }
        }
        for interval in [Int64.min, 0, 1, .max] {
            body.linux?.samples?.intervalNanoseconds = interval
            body.linux?.samples?.beganNanoseconds = .max
            let timeline = try #require(Timeline(body))
            #expect(timeline.lanes.flatMap(\.bars).allSatisfy { $0.to <= timeline.elapsed && $0.from <= $0.to })
            _ = TimelineDrawing(timeline).markup
        }
    }

    @Test("The scale has at most seven round numbers")
    func ticks() throws {
        var body = try body("scene-update")
        for elapsed in [1, 999, 250_000_000, 10_050_000_000, 86_400_000_000_000, Int64.max] {
            body.linux?.allowance.elapsedNanoseconds = elapsed
            let ticks = try #require(Timeline(body)).ticks
            #expect((1...7).contains(ticks.count), "\(elapsed): \(ticks)")
            #expect(ticks == ticks.sorted())
        }
    }

    @Test(
        "The labels of the scale are exact, in one unit, and below a second in milliseconds",
        arguments: [
            (5, "0, 1 ns, 2 ns, 3 ns, 4 ns, 5 ns"), (2_000, "0, 0.5 µs, 1 µs, 1.5 µs, 2 µs"),
            (2_999_000, "0, 0.5 ms, 1 ms, 1.5 ms, 2 ms, 2.5 ms"),
            (99_000_000, "0, 20 ms, 40 ms, 60 ms, 80 ms"), (119_000_000, "0, 20 ms, 40 ms, 60 ms, 80 ms, 100 ms"),
            (120_000_000, "0, 50 ms, 100 ms"), (299_000_000, "0, 50 ms, 100 ms, 150 ms, 200 ms, 250 ms"),
            (999_999_999, "0, 200 ms, 400 ms, 600 ms, 800 ms"), (1_000_000_000, "0, 0.2 s, 0.4 s, 0.6 s, 0.8 s, 1 s"),
            (2_000_000_000, "0, 0.5 s, 1 s, 1.5 s, 2 s"), (10_000_000_000, "0, 2 s, 4 s, 6 s, 8 s, 10 s"),
        ] as [(Int64, String)])
    func labels(elapsed: Int64, text: String) throws {
        var body = try body("scene-update")
        body.linux?.allowance.elapsedNanoseconds = elapsed
        body.linux?.pings = nil
        body.linux?.samples = nil
        body.linux?.stages = nil
        body.linux?.kill.nanoseconds = nil
        body.procStartAbsTime = nil
        let ticks = try #require(Timeline(body)).ticks
        #expect(TimelineDrawing.labels(ticks).joined(separator: ", ") == text)
        #expect(TimelineDrawing.labels([-1_500_000_000, 0]) == ["−1.5 s", "0"])
    }
}
