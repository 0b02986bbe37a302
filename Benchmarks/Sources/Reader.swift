// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// How long a person who reads a report waits: from the command to its end.
struct Reader {
    private static let threads = 31
    private static let reports = 1_000
    private static let count = 40

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Reading reports: command to its end")
        let report = try report()
        let folder = try folder(of: report)
        let threads = "\(Self.threads) threads"
        page.row("the program's own start", try time(["--version"]))
        page.row("report show, \(threads)", try time(["report", "show", report]), goal: Page.Goal(median: 30))
        page.row("report explain, \(threads)", try time(["report", "explain", report]), goal: Page.Goal(median: 30))
        let html = ["report", "export", "--format", "html", report]
        page.row("report export, page, \(threads)", try time(html))
        page.row("report list, \(Self.reports)", try time(["report", "list", "--reports", folder]))
        page.row("report show latest of \(Self.reports)", try time(["report", "show", "--reports", folder]))
        page.row("report symbolicate, names there", try time(["report", "symbolicate", report], code: nil))
    }

    /// The report of a program with this many threads.
    private func report() throws -> String {
        let watcher = Watcher()
        let run = try SupervisedRun(
            bench, watcher, options: ["--readiness", "notify", "--launch", "150ms"],
            command: [bench.subject("blocked"), "\(Self.threads)"])
        try watcher.run(for: "a report") { run.isOver }
        return try (run.summary().incidents.last?.report).unwrapped(or: "there is no report")
    }

    /// A folder with the reports of a bad week.
    private func folder(of report: String) throws -> String {
        let folder = bench.freshPath("thousand")
        let bytes = try FileManager.default.contents(atPath: report).unwrapped(or: "\(report) cannot be read")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for index in 0..<Self.reports {
            let time = [index / 3_600 + 10, index / 60 % 60, index % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined()
            try bytes.write(to: URL(filePath: "\(folder)/blocked-2026-11-20-\(time).ips"))
        }
        return folder
    }

    /// From before the start until the end was seen, with the output thrown away.
    ///
    /// - Parameter code: the exit code that it must have; nil for any.
    private func time(_ arguments: [String], code: Int32? = 0) throws -> Sample {
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        var sample = Sample()
        for _ in 0..<Self.count {
            let started = Instant.now()
            let process = try spawn(
                .underTest(bench.watchdogd, arguments, output: null.number, messages: null.number)
            ).process
            var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, -1)
            sample.add(.now() - started)
            let status = try process.waitExit()?.status
            guard code == nil || status == .exited(code: code ?? 0) else {
                throw Failure("watchdogd \(arguments.joined(separator: " ")) ended with \(String(describing: status))")
            }
        }
        return sample
    }
}
