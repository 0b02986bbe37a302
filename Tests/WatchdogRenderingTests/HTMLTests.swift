// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("HTML")
struct HTMLTests {
    @Test("No text of a report becomes markup, in any place")
    func hostileText() {
        let evil = #"<script>alert(1)</script>"'><img src=x onerror=alert(2)>"# + "&\u{1b}[31m\u{202e}"
        var report = Samples.goldens[2].report
        report.metadata.appName = evil
        report.metadata.incidentID = evil
        report.metadata.linux?.event = evil
        report.body.captureTime = evil
        report.body.procPath = evil
        report.body.modelCode = evil
        report.body.bundleInfo = BundleInfo(identifier: evil, shortVersion: evil, version: evil)
        report.body.osVersion = OSVersion(train: evil, build: evil)
        report.body.exception.type = evil
        report.body.exception.signal = evil
        report.body.termination?.namespace = evil
        report.body.termination?.reasons = [evil]
        report.body.kernelTriage = evil
        report.body.linux?.verdict.line = evil
        report.body.linux?.verdict.brief = evil
        report.body.linux?.status = evil
        report.body.linux?.notes = [evil]
        report.body.linux?.environment = [evil: evil]
        report.body.linux?.commandLine = [evil]
        report.body.linux?.evidence = [EvidenceStatement(what: evil, value: evil, source: evil)]
        report.body.linux?.buildIDs = [evil, evil]
        report.body.linux?.processes = [
            ProcessDetails(
                pid: 7, parentPid: 1, name: evil, state: evil, commandLine: [evil],
                waits: [WaitDetails(process: 7, thread: 7, name: evil, syscall: evil, subject: evil, sources: [evil])],
                failure: evil, threads: report.body.threads, threadDetails: [], usedImages: report.body.usedImages,
                buildIDs: [])
        ]
        for index in report.body.threads.indices {
            report.body.threads[index].name = evil
            report.body.linux?.threads[index].state = evil
            report.body.linux?.threads[index].waitChannel = evil
            for frame in report.body.threads[index].frames.indices {
                report.body.threads[index].frames[frame].symbol = evil
                report.body.threads[index].frames[frame].sourceFile = evil
            }
        }
        report.body.threads[0].threadState?.registers[evil] = ThreadState.Register(value: 1)
        for index in report.body.usedImages.indices {
            report.body.usedImages[index].name = evil
            report.body.usedImages[index].path = evil
        }
        let page = HTMLRenderer.render(report)
        #expect(page.components(of: "<script") == 1, "the page's own")
        #expect(!page.contains("<img"))
        #expect(page.components(of: "&lt;script&gt;") > 20)
        #expect(page.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && $0.value != 0x202e) })
        // A quote in an attribute would end it.
        let attributes = page.matches(of: #/="([^"]*)"/#).map { String($0.output.1) }
        #expect(attributes.allSatisfy { !$0.contains("<") && !$0.contains("'>") })
    }

    @Test("A color has one meaning on the page, in light and in dark")
    func colors() {
        let style = "\(HTMLAssets.style)"
        let patterns = [
            #/\.([a-z]+)\{fill:var\(--([a-z]+)\);background/#, #/\.(party-[a-z-]+)\{--accent:var\(--([a-z]+)\)/#,
        ]
        let rules = patterns.flatMap { style.matches(of: $0) }.map { ("\($0.output.1)", "\($0.output.2)") }
        #expect(Set(rules.map(\.0)).isSuperset(of: TimelineLane.Style.allCases.map(\.rawValue)))
        #expect(rules.count == TimelineLane.Style.allCases.count + 3)
        let shared = Dictionary(grouping: rules, by: \.1).mapValues { Set($0.map(\.0)) }.filter { $0.value.count > 1 }
        #expect(
            shared == [
                "wait": ["credit", "waiting"], "run": ["running", "runnable"], "still": ["paused", "stopped"],
            ])
        let named = Set(rules.map(\.1) + ["none", "ink"])
        #expect(style.contains("a{color:var(--ink)}"), "a link is no part of the verdict")
        for palette in style.matches(of: #/:root\{([^}]*--run:[^}]*)\}/#) {
            let values = palette.output.1.matches(of: #/--([a-z]+):(#[0-9a-f]+)/#)
                .filter { named.contains("\($0.output.1)") }.map { "\($0.output.2)" }
            #expect(values.count == named.count && Set(values).count == named.count, "\(values)")
        }
    }

    @Test("A page loads nothing and depends on nothing")
    func selfContained() {
        for (_, report) in Samples.goldens {
            let page = HTMLRenderer.render(report)
            #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("url("))
            #expect(page.components(of: "src=") == 0)
            #expect(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"))
            #expect(page.components(of: "<details") == page.components(of: "</details>"))
            #expect(page.components(of: "<div") == page.components(of: "</div>"))
            #expect(page.components(of: "<section") == page.components(of: "</section>"))
            #expect(page.components(of: "<span") == page.components(of: "</span>"))
        }
    }

    @Test("Threads with the same stack are shown together, once")
    func grouping() throws {
        var capture = Samples.capture
        let worker = capture.threads[1]
        for id in 5_000..<5_040 {
            var thread = worker
            thread.id = id
            capture.threads.append(thread)
        }
        let report = Samples.report(capture: capture)
        let groups = StackGroup.groups(of: report.stacks.filter { !$0.isFaulting })
        #expect(groups.map(\.count) == [41])
        #expect(HTMLRenderer.render(report).contains("41 threads alike: 1, 2, 3"))
    }

    @Test("A report with more than a hundred deep stacks yields a page that a browser can show")
    func size() {
        var capture = Samples.capture
        let frame = capture.threads[0].frames[1]
        for id in 5_000..<5_120 {
            var thread = CapturedThread(id: id, name: "t\(id)", state: "S")
            thread.frames = (0..<200).map { index in
                var frame = frame
                frame.symbol = "f\(id).\(index)"
                return frame
            }
            capture.threads.append(thread)
        }
        let page = HTMLRenderer.render(Samples.report(capture: capture))
        #expect(page.utf8.count < 16 << 20)
        #expect(page.contains("More threads are left out"))
    }

    @Test("The timeline has the report's events in order, and no number overflows")
    func timeline() throws {
        let timeline = try #require(Timeline(Samples.goldens[2].report.body))
        #expect(
            timeline.moments.map(\.name) == [
                "launch", "last answer of the main loop", "allowance starts", "deadline",
                "last sample of all threads, stopped for 0.6 ms",
                "every process gone",
            ])
        #expect(timeline.moments.map(\.nanoseconds).sorted() == timeline.moments.map(\.nanoseconds))
        var body = Samples.goldens[2].report.body
        body.procStartAbsTime = 0
        body.procExitAbsTime = .max
        body.linux?.allowance.nanoseconds = .max
        body.linux?.allowance.creditNanoseconds = .max
        body.linux?.allowance.elapsedNanoseconds = .max
        body.linux?.pings?.sinceLastAnswerNanoseconds = .min
        body.linux?.kill.nanoseconds = .max
        let extreme = try #require(Timeline(body))
        #expect(extreme.moments.allSatisfy { (0...10_000).contains(extreme.position($0.nanoseconds)) })
        _ = TimelineDrawing(extreme).markup
        body.linux?.allowance.elapsedNanoseconds = -1
        #expect(Timeline(body) == nil)
    }

    @Test("A phone's report and a mostly lost one have a page too")
    func foreign() throws {
        let phone = HTMLRenderer.render(try ReportCoding.decode(Array(ForeignSample.ips.utf8)))
        #expect(phone.contains("Notes.crash()"))
        #expect(phone.contains("EXC_BREAKPOINT (SIGTRAP)"))
        var empty = Samples.report()
        empty.body.threads = []
        empty.body.usedImages = []
        empty.body.faultingThread = -4
        empty.body.linux = nil
        #expect(HTMLRenderer.render(empty).contains("names no faulting thread"))
        #expect(!Explanation(of: empty).text.isEmpty)
        #expect(!MetricKitPayload(empty).json.isEmpty)
    }
}

extension String {
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
