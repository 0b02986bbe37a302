// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Reads what `watchdogd top` shows: from the daemon, and from `/proc` for what processes use.
///
/// Isolation: one thread at a time.
public final class TopReader {
    private struct Use {
        let cpuTime: Duration
        let at: Instant
        let process: Int32
    }

    /// Above this, the text with all histograms is too much for every second.
    private static let mostWithPings = 200

    private let client: ControlClient
    private var uses: [String: Use] = [:]
    private var answers: AnswerBuckets?

    /// Reads through a connection that nobody else uses.
    public init(_ client: ControlClient) {
        self.client = client
    }

    /// A reading; differences count since the one before.
    public func read() throws(ControlClientError) -> [TopApp] {
        let apps = try client.list().apps
        var fresh: AnswerBuckets?
        if apps.count <= Self.mostWithPings {
            // Other users may not read them.
            do { fresh = AnswerBuckets(try client.metrics().parts) } catch  where error.controlError != nil {}
        }
        defer { answers = fresh }
        return apps.map { app in
            var line = TopApp(app)
            if let fresh, let answers { line.ping = fresh.percentile99(of: app.name, since: answers) }
            if let pid = app.pid { measure(pid, &line) }
            return line
        }
    }

    private func measure(_ pid: Int32, _ line: inout TopApp) {
        // Without a cgroup, only the main process is known.
        let cgroup = line.summary.cgroup.flatMap { try? Cgroup(opening: $0) }
        let now = Instant.now()
        if let time = cgroup?.cpuTime ?? ProcessCPU.time(pid) {
            if let before = uses[line.summary.name], before.process == pid, now > before.at {
                line.cpu =
                    Double((time - before.cpuTime).nanoseconds) / Double((now - before.at).nanoseconds)
            }
            uses[line.summary.name] = Use(cpuTime: time, at: now, process: pid)
        }
        let processes = cgroup?.processes() ?? [pid]
        line.tasks = processes.compactMap { ProcessStat.read($0)?.threadCount }.reduce(0, +)
        let resident = processes.compactMap { ProcessStatus.read($0)?.residentBytes }
        line.memory = resident.isEmpty ? nil : resident.reduce(0, +)
    }
}
