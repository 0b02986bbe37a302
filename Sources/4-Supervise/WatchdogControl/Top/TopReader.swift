// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Reads the data of `watchdogd top`: from the daemon, and the usage of processes from `/proc`.
///
/// Isolation: one thread at a time.
public final class TopReader {
    private struct Use {
        let cpuTime: Duration
        let at: Instant
        let process: Int32
    }

    /// The maximum number of apps for which histograms are read: with more, the text is too large for one read a
    /// second.
    private static let mostWithPings = 200

    private let client: ControlClient
    private var uses: [String: Use] = [:]
    private var answers: AnswerBuckets?

    /// Creates a reader, which must be the only user of the connection.
    public init(_ client: ControlClient) {
        self.client = client
    }

    /// Takes a reading; differences are relative to the previous one.
    public func read() throws(ControlClientError) -> [TopApp] {
        let apps = try client.list().apps
        var fresh: AnswerBuckets?
        if apps.count <= Self.mostWithPings {
            // Users without the right to inspect may not read the metrics.
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
        // Without a cgroup of its own, only the main process is known.
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

/// One line of `watchdogd top`: the daemon's summary of an app, and the usage of its processes.
public struct TopApp: Hashable, Sendable {
    /// The daemon's summary.
    public var summary: AppSummary
    /// The 99th percentile of the pings, or else of the probes, answered since the last reading; nil without any.
    public var ping: Duration?
    /// The CPU time since the last reading, as a share of one CPU: 1.5 for one and a half CPUs; nil if unknown.
    public var cpu: Double?
    /// Resident memory of all processes, in bytes; nil if unknown.
    public var memory: UInt64?
    /// The threads of all processes; nil if unknown.
    public var tasks: Int?

    /// Creates a line.
    public init(
        _ summary: AppSummary, ping: Duration? = nil, cpu: Double? = nil, memory: UInt64? = nil, tasks: Int? = nil
    ) {
        self.summary = summary
        self.ping = ping
        self.cpu = cpu
        self.memory = memory
        self.tasks = tasks
    }
}
