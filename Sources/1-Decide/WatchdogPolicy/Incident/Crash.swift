// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Which ends not caused by the watchdog get a report.
public enum CrashReports: String, Hashable, Sendable, Codable, CaseIterable {
    /// Signals, and exit codes other than 0.
    case all = "all"
    /// Signals.
    case signals = "signals"
}

/// An end of the main process that nobody requested.
///
/// Signals count, except those that ask a program to end (SIGHUP, SIGINT, SIGPIPE, SIGTERM, as in systemd) and those
/// that the supervisor forwarded. After a request to end, only signals that dump core count: whoever requested the end
/// may kill the program, but it must not crash.
public struct Crash: Hashable, Sendable {
    /// How it ended; if that is unknown, it may not have been a crash.
    public let status: ExitStatus
    /// Whether it had been asked to end.
    public let wasEnding: Bool

    /// Signals whose default action is to dump core, signal(7); the numbers are those of x86-64 and arm64.
    public static let coreSignals: Set<Int32> = [3, 4, 5, 6, 7, 8, 11, 24, 25, 31]
    /// Signals that ask a program to end.
    public static let politeSignals: Set<Int32> = [1, 2, 13, 15]

    /// Judges an end; nil if it is not to be reported.
    ///
    /// - Parameters:
    ///   - outcome: the end.
    ///   - reports: which ends are reported; nil for none.
    ///   - forwarded: signals that the supervisor forwarded to the program.
    public init?(_ outcome: Outcome, reporting reports: CrashReports?, forwarded: Set<Int32> = []) {
        guard let reports, let status = outcome.status else { return nil }
        switch outcome.cause {
        case .spawnFailed, .killedOnRequest, .watchdog: return nil
        case .exited: wasEnding = false
        case .terminated: wasEnding = true
        }
        switch status {
        case .exited(let code):
            guard code != 0, reports == .all, !wasEnding else { return nil }
        case .signaled(let signal, _):
            guard !Self.politeSignals.contains(signal), !forwarded.contains(signal) else { return nil }
            guard !wasEnding || Self.coreSignals.contains(signal) else { return nil }
        case .unknown:
            guard !wasEnding else { return nil }
        }
        self.status = status
    }
}
