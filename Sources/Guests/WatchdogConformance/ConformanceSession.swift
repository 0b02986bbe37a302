// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux
import WatchdogWire

/// Tests a client of the channel protocol: launches it several times and plays the supervisor.
///
/// Isolation: one thread.
public final class ConformanceSession {
    let plan: ConformancePlan
    private let executable: String
    private let interruption: OwnedDescriptor
    private let onResult: (ConformanceResult) -> Void
    private var results: [Requirement: ConformanceResult.Outcome] = [:]
    private var launches = 0
    /// The protocol errors of all launches, without duplicates.
    private var faults: [String] = []
    /// Whether the client takes part in the lifecycle; nil before its greeting.
    private(set) var hasLifecycle: Bool?
    /// The time until the client was ready, in a launch with a channel; nil if it was not.
    private var readyTime: Duration?

    /// Prepares the launches.
    ///
    /// - Parameters:
    ///   - plan: the program and the limits.
    ///   - interruption: a descriptor that becomes readable when the user interrupts.
    ///   - onResult: called with each result as soon as it is known.
    /// - Throws: ``ConformanceError`` if the program does not exist.
    public init(
        _ plan: ConformancePlan, interruption: OwnedDescriptor,
        onResult: @escaping (ConformanceResult) -> Void = { _ in }
    ) throws(ConformanceError) {
        self.plan = plan
        self.interruption = interruption
        self.onResult = onResult
        do throws(ExecutableLookupError) {
            executable = try resolveExecutable(
                plan.command.first ?? "", path: plan.environment.searchPath)
        } catch {
            throw ConformanceError(error.description, exitCode: error.sysexit)
        }
        do throws(LinuxError) {
            try Subreaper.become()
        } catch {
            throw ConformanceError("\(error)", exitCode: 71)
        }
    }

    /// Tests every requirement of the protocol.
    ///
    /// - Returns: a result for each ``Requirement``, in their order.
    /// - Throws: ``ConformanceError`` if the program cannot be started or the user interrupts; no process is left then.
    public func run() throws(ConformanceError) -> [ConformanceResult] {
        skip(Requirement.allCases.filter(plan.exceptions.contains), because: "left out with --except")
        for scenario in [tryGreeting, tryUnknownKeys, tryRepeatedKeys, tryGarbage, tryFlood, tryLifecycle]
            + [tryBlockedLoop, tryHangOnDemand, tryTermination, tryClosedChannel]
            + [tryAlone, tryBadEnvironment, tryServiceManager]
        {
            try scenario()
        }
        record(.conduct, faults.isEmpty ? .passed("") : .failed(faults.joined(separator: "; ")))
        return Requirement.allCases.map { ConformanceResult($0, results[$0] ?? .skipped("it was not tested")) }
    }

    // MARK: For the scenarios

    func record(_ requirement: Requirement, _ outcome: ConformanceResult.Outcome) {
        guard results[requirement] == nil else { return }
        results[requirement] = outcome
        onResult(ConformanceResult(requirement, outcome))
    }

    /// Skips those of the requirements that have no result yet.
    func skip(_ requirements: [Requirement], because reason: String) {
        for requirement in requirements where results[requirement] == nil { record(requirement, .skipped(reason)) }
    }

    func note(hasLifecycle: Bool) { self.hasLifecycle = hasLifecycle }

    func note(readyTime: Duration) { self.readyTime = readyTime }

    /// The time limit of a program without a channel, which reports nothing: longer than the launch over the channel
    /// took.
    var silenceLimit: Duration {
        min(plan.launchLimit, max(.seconds(2), (readyTime ?? .zero) * 4))
    }

    func launch(_ connection: ClientUnderTest.Connection = .channel) throws(ConformanceError) -> ClientUnderTest {
        launches += 1
        return try ClientUnderTest(
            plan, executable: executable, number: launches, connection: connection, interruption: interruption)
    }

    /// Launches the program to test some requirements, and waits until it is ready.
    ///
    /// - Returns: nil if it does not become ready, which skips the requirements, or if all of them were skipped before.
    func launchReady(
        for requirements: [Requirement], _ connection: ClientUnderTest.Connection = .channel
    ) throws(ConformanceError) -> ClientUnderTest? {
        guard requirements.contains(where: { results[$0] == nil }) else { return nil }
        let program = try launch(connection)
        if try program.wait(plan.launchLimit, until: { $0.hello != nil && $0.isReady }) { return program }
        finish(program)
        skip(requirements, because: "it has not become ready")
        return nil
    }

    /// Records the protocol errors of a launch, and kills its remaining processes.
    func finish(_ program: ClientUnderTest) {
        program.listen()
        for fault in program.conduct.faults where !faults.contains(fault) { faults.append(fault) }
        program.kill()
    }

    /// Sends a ping and waits for its answer.
    ///
    /// - Returns: the time until the answer; nil without one.
    func ping(_ program: ClientUnderTest, _ number: UInt64) throws(ConformanceError) -> Duration? {
        program.listen()
        let (heard, start) = (program.conduct.heard.count, Instant.now())
        program.say(SupervisorMessage(ping: number))
        _ = try program.wait(plan.answerLimit) { $0.answer(to: number, since: heard) != nil }
        return program.conduct.answer(to: number, since: heard).map { $0 - start }
    }

    /// What the program did instead of the expected answer.
    func instead(_ program: ClientUnderTest, _ otherwise: String) -> String {
        if let exit = program.exit { return "it ended: \(Self.text(exit))" }
        return program.isClosed ? "it has closed the channel" : otherwise
    }

    static func text(_ exit: ExitStatus) -> String {
        switch exit {
        case .exited(let code): "exited with code \(code)"
        case .signaled(let signal, _): "killed by \(SignalName.of(Int(signal)))"
        case .unknown: "gone"
        }
    }
}
