// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// What a test of a real process costs; the test runner measures, because the kit works only there.
struct TestKit {
    /// How much longer than the program alone a test of it may take, in milliseconds.
    private static let allowance = 50.0
    private static let patience: Int32 = 600_000

    let bench: Bench

    func run(on page: inout Page) throws {
        let figures = try measure()
        page.begin("Test of a program that takes 0.1 s")
        try compare("sleep", "sleep 0.1 alone", with: "termination", "launch, termination", figures, on: &page)
        page.begin("Test of an app that takes 0.1 s")
        try compare("app", "HealthyApp alone", with: "ready", "launch, ready, termination", figures, on: &page)
        page.begin("Test on virtual time")
        page.row(
            "launch, event, hang", try figures["hang"].unwrapped(or: "no hang was measured"),
            goal: Page.Goal(median: 5))
        page.row("a minute in the background", try figures["minute"].unwrapped(or: "no minute was measured"))
        let each = try figures["each"].unwrapped(or: "no test of many was measured")
        page.begin("\(each.count) tests at once, an app each", unit: "s")
        for (label, figure) in [("launch, ready, terminate", each), ("all of them", figures["all"])] {
            let figure = try figure.unwrapped(or: "many tests were not measured")
            let median = try figure.median.unwrapped(or: "\(label) has no value")
            page.row(
                label, count: figure.count, median: median.milliseconds / 1_000,
                p99: figure.p99.map { $0.milliseconds / 1_000 })
        }
    }

    private func compare(
        _ alone: String, _ aloneLabel: String, with test: String, _ label: String, _ figures: [String: Sample],
        on page: inout Page
    ) throws {
        let alone = try figures[alone].unwrapped(or: "\(aloneLabel) was not measured")
        let test = try figures[test].unwrapped(or: "\(label) was not measured")
        page.row(aloneLabel, alone)
        page.row(label, test, goal: alone.median.map { Page.Goal(median: $0.milliseconds.rounded() + Self.allowance) })
    }

    /// Runs the tests that measure, under the watchdogd of the release build.
    private func measure() throws -> [String: Sample] {
        let (path, outputPath) = (bench.freshPath("figures"), bench.freshPath("tests"))
        let output = try OwnedDescriptor(opening: outputPath, flags: O_WRONLY | O_CREAT, mode: 0o600)
        var request = SpawnRequest.underTest(
            bench.tests,
            ["--testing-library", "swift-testing", "--filter", #"^WatchdogTestingTests\.FigureTests/"#],
            output: output.number, messages: output.number)
        request.environment["WATCHDOGD"] = bench.watchdogd
        request.environment["WATCHDOGD_KIT_FIGURES"] = path
        let runner = try spawn(request).process
        var entry = pollfd(fd: runner.descriptor.number, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, Self.patience) != 1 { try runner.send(SIGKILL) }
        poll(&entry, 1, Self.patience)
        let status = try runner.waitExit()?.status
        guard status == .exited(code: 0) else {
            let last = Machine.lines(of: outputPath).filter { $0.contains("✘") }.suffix(3).joined(separator: "\n")
            throw Failure("\(bench.tests) ended with \(status.map { "\($0)" } ?? "nothing"): \(last)")
        }
        var figures: [String: Sample] = [:]
        for line in Machine.lines(of: path) {
            let words = line.split(separator: " ")
            guard words.count == 2, let nanoseconds = Int64(words[1]) else { throw Failure("not a figure: \(line)") }
            figures[String(words[0]), default: Sample()].add(.nanoseconds(nanoseconds))
        }
        return figures
    }
}
