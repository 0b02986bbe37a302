// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WatchdogConversation

/// A real process of the app under test, under a real supervisor.
///
/// ```swift
/// @Test func savesBeforeItIsSuspended() async throws {
///     let app = try await SupervisedApp.launch("BackgroundSaver")
///     try await app.ready(within: .seconds(5))
///     try await app.background()
///     try await app.expectSurvival(for: .seconds(2))
///     try await app.terminate()
/// }
/// ```
///
/// `watchdogd run` supervises the app in its own process, so no other child of the test runner is reaped or signaled,
/// and tests run in parallel. watchdogd kills the app when the last reference is released, or when the runner ends for
/// any reason. Waits do not poll or sleep: each ends with its event, or throws after its limit.
///
/// Isolation: any thread.
public final class SupervisedApp: Sendable {
    /// The default time limit of waits.
    public static let patience: Duration = .seconds(60)

    /// The app's name in messages and reports.
    public let name: String
    let journal = AppJournal()
    private let scratch: ScratchDirectory
    private let process: SupervisorProcess
    private let isAwaited = Mutex(false)
    private let attachments = CrashLogAttachments()
    /// The shortest hang that gets a crash log although it ends by itself.
    let shortestReportedHang: Duration

    private init(_ program: Program, _ settings: LaunchSettings) throws {
        name = program.name
        shortestReportedHang = settings.hangReports ?? .seconds(1)
        let executable = try program.path()
        let watchdogd = try Installation.watchdogd()
        scratch = try ScratchDirectory()
        let (scratch, journal) = (scratch, journal)
        process = try SupervisorProcess(
            watchdogd,
            { remote in
                ["run", "--quiet", "--remote", "\(remote)", "--name", program.name, "--reports", scratch["reports"]]
                    + settings.options + ["--", executable] + program.arguments
            },
            output: scratch["output"], errors: scratch["errors"],
            onLine: { journal.take($0) }, onEnd: { journal.finish() })
    }

    /// Launches an app and returns as soon as its process runs.
    ///
    /// - Parameters:
    ///   - program: The program: `"NAME"` of an executable target, or `"/path"`.
    ///   - settings: The app's allowances; by default, those of the test's traits.
    /// - Throws: ``TestSetupError`` if the program or watchdogd was not found or cannot be executed.
    public static func launch(_ program: Program, _ settings: LaunchSettings? = nil) async throws -> SupervisedApp {
        let settings = settings ?? .inherited
        return try await LaunchGate.shared.pass { try await start(program, settings) }
    }

    private static func start(_ program: Program, _ settings: LaunchSettings) async throws -> SupervisedApp {
        let app = try SupervisedApp(program, settings)
        let scratch = app.scratch
        try await app.journal.wait(
            for: "the launch of \(app.name)", within: patience, else: { _ in app.late("run", patience) }
        ) { history -> Void? in
            if history.process != nil { return () }
            if let end = history.end, end.cause == "spawnFailed" { throw TestSetupError("\(app.name): \(end.words)") }
            if history.isOver {
                throw TestSetupError("watchdogd did not launch \(app.name): \(scratch.text("errors"))")
            }
            return nil
        }
        return app
    }

    deinit {
        if !isAwaited.withLock({ $0 }), journal.history.process != nil { ForgottenWaits.warn(name) }
    }

    func noteAwaited() { isAwaited.withLock { $0 = true } }

    // MARK: - What is known

    /// The ID of the main process.
    public var processID: Int32? { journal.history.process }
    /// The limitations of watchdogd on this machine or for this user, one sentence each.
    public var limits: [String] { journal.history.limits }
    /// The app's standard output so far.
    public var output: String { scratch.text("output") }
    /// The standard error of the app and of watchdogd so far.
    public var errors: String { scratch.text("errors") }
    /// The lifecycle state: `launching`, `foreground`, `inactive`, `background`, `suspended` or `terminating`.
    public var state: String? { journal.history.state }

    // MARK: - Waiting

    /// Waits until the launch is complete.
    ///
    /// - Parameter limit: The time limit of the launch, measured from the execution of the app's program.
    /// - Returns: The duration of the launch.
    /// - Throws: ``ExpectationFailure`` if the launch took longer, or the app ended before.
    @discardableResult
    public func ready(within limit: Duration = patience) async throws -> Duration {
        let name = name
        let (duration, _) = try await wait(for: "ready", within: max(limit, Self.patience)) { history in
            history.launchDuration.map { ($0, 0) }
        }
        guard duration <= limit else {
            throw fail("expected \(name) to be ready within \(limit), but it took \(duration)")
        }
        return duration
    }

    /// Waits until the app has ended and its report is written.
    public var termination: Termination {
        get async throws { try await termination(within: Self.patience) }
    }

    /// Waits until the app has ended and its report is written.
    ///
    /// - Throws: ``ExpectationFailure`` if it still runs after `limit`.
    public func termination(within limit: Duration) async throws -> Termination {
        let (app, scratch) = (self, scratch)
        noteAwaited()
        defer { attachCrashLogs() }
        let history = try await journal.wait(
            for: "the end of \(name)", within: limit, else: { _ in app.late("end", limit) }
        ) { history in
            history.isOver ? history : nil
        }
        guard let end = history.end else {
            throw TestSetupError("watchdogd ended before \(name) did: \(scratch.text("errors"))")
        }
        return Termination(end, history.incidents, in: scratch)
    }

    // MARK: - Requests

    func send(_ request: RemoteRequest) { process.send(request.line) }

    /// Waits for an event of the running app; throws if the app ends before.
    func wait<Value: Sendable>(
        for what: String, within limit: Duration = patience,
        _ look: @escaping @Sendable (AppHistory) throws -> Value?
    ) async throws -> Value {
        let app = self
        noteAwaited()
        defer { attachCrashLogs() }
        return try await journal.wait(
            for: "\(name) to be \(what)", within: limit, else: { _ in app.late("be \(what)", limit) }
        ) { history in
            if let value = try look(history) { return value }
            guard history.isOver else { return nil }
            let sentence = "expected \(app.name) to be \(what), but \(app.ending(history))"
            guard history.launchDuration == nil else { throw app.fail(sentence) }
            throw app.fail(
                "\(sentence)\nIt never said that it is ready: call Watchdog.ready(), or set LaunchSettings.readiness")
        }
    }

    func ending(_ history: AppHistory) -> String {
        guard let end = history.end else { return "watchdogd ended: \(errors)" }
        return Termination(end, history.incidents, in: scratch).description
    }

    // MARK: - Failures

    /// Attaches the existing crash logs, because a plain expectation about them may fail later.
    ///
    /// Call it in the awaiting task: callbacks run on other threads, where the current test is unknown.
    func attachCrashLogs() { attachments.attach(journal.history.reports, in: scratch) }

    /// The crash log of the longest hang that ended by itself; nil if none was long enough for one.
    var longestHangReport: CrashLog? {
        let hangs = scratch.crashLogs(in: "reports").compactMap { path -> (log: CrashLog, duration: Duration)? in
            guard let log = try? CrashLog(reading: path), let duration = log.hangDuration else { return nil }
            return (log, duration)
        }
        return hangs.max { $0.duration < $1.duration }?.log
    }

    /// Creates the failure, and keeps the crash logs for its investigation.
    ///
    /// - Parameter hang: The crash log of a hang that ended by itself, if the failure is about one.
    func fail(_ sentence: String, hang: CrashLog? = nil) -> ExpectationFailure {
        scratch.keep()
        let history = journal.history
        var lines = [sentence]
        let reports = history.reports + [hang?.path].compactMap(\.self)
        for incident in history.incidents {
            if let verdict = incident.verdict { lines.append("verdict: \(verdict)") }
            if let failure = incident.failure { lines.append("report: \(failure)") }
        }
        if let hang { lines.append("verdict: \(hang.verdict)") }
        attachments.attach(reports, in: scratch)
        for path in reports {
            CrashLogAttachments.copy(path)
            lines.append("crash log: \(path)")
        }
        return ExpectationFailure(lines.joined(separator: "\n"))
    }

    private func late(_ what: String, _ limit: Duration) -> ExpectationFailure {
        fail("\(name) did not \(what) within \(limit); it is \(state ?? "not launched")")
    }
}

/// Limits how many supervisors start at the same time.
///
/// Hundreds of parallel tests would otherwise starve each other of CPU for longer than a launch allowance.
actor LaunchGate {
    static let shared = LaunchGate(limit: max(2, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) { free = limit }

    /// Waits for a free place, and calls a function.
    func pass<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
        defer {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
        return try await body()
    }
}
