// SPDX-License-Identifier: Apache-2.0

/// Which ends that the watchdog does not bring about have a report.
public enum CrashReports: String, Hashable, Sendable, Codable, CaseIterable {
    /// Signals, and exit codes other than 0.
    case all
    /// Signals.
    case signals
}

/// The end of a main process that nobody asked for.
///
/// Signals count, but for those by which programs are asked to end (SIGHUP, SIGINT, SIGPIPE, SIGTERM, as for systemd) and
/// those that the supervisor passed on. After a request to end only those count that dump core: a program that is
/// being ended may be killed by whom it asked, but it may not crash.
public struct Crash: Hashable, Sendable {
    /// How it ended; when that is not known, it may have been no crash at all.
    public let status: ExitStatus
    /// Whether it had been asked to end.
    public let wasEnding: Bool

    /// Signals whose default action is to dump core: signal(7); the numbers are those of x86-64 and arm64.
    public static let coreSignals: Set<Int32> = [3, 4, 5, 6, 7, 8, 11, 24, 25, 31]
    /// Signals by which a program is asked to end.
    public static let politeSignals: Set<Int32> = [1, 2, 13, 15]

    /// Judges an end; nil when it is not to be reported.
    ///
    /// - Parameters:
    ///   - outcome: the end.
    ///   - reports: which ends are reported; nil for none.
    ///   - forwarded: signals that the supervisor passed on to the program.
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
