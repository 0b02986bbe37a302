// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// One launch of a program, from the request to the end of its last process.
///
/// Isolation: belongs to one thread.
final class MeasuredLaunch {
    /// The end of a launch, and its costs.
    struct Outcome {
        /// The signal that ended it.
        let signal: LaunchGoal
        /// The time from the request to the end.
        let wall: Duration
        /// The program's usage until then.
        let counters: ProcessCounters
        /// The instructions of all launches until then; nil if unknown.
        let instructions: Int64?
    }

    /// The mapped files that were observed.
    private(set) var mappedFiles: Set<String> = []
    private let setup: LaunchSetup
    private let program: ProgramUnderTest
    private let listen: FirstListen?
    private let start: Instant
    private let deadline: Instant
    private var idle = FirstIdle()
    private var choice = LaunchEndChoice()
    private var reached: Outcome?

    /// Starts the program.
    init(_ setup: LaunchSetup) throws(MeasuringError) {
        self.setup = setup
        do {
            var request = setup.request
            try setup.messages.prepare(&request)
            defer { setup.messages.releaseProgramEnd() }
            listen = setup.polls(.listen) ? try FirstListen() : nil
            start = .now()
            deadline = start + setup.timeLimit
            program = try ProgramUnderTest(
                request, output: setup.showsOutput ? .shown : .tail, marker: setup.marker)
            if let refusal = program.cgroupRefusal {
                program.kill()
                throw MeasuringError.unavailable("--cpu-quota: cannot move the program to its cgroup: \(refusal)")
            }
        } catch let error as MeasuringError {
            throw error
        } catch let error as SpawnError {
            throw .spawn(error, of: setup.name)
        } catch {
            throw .refused("\(error)")
        }
    }

    /// Waits for the end of the launch.
    ///
    /// - Throws: ``MeasuringError`` if the program fails, does not reach its end in time, or the user interrupts; the
    ///   program may still run then: call ``terminate()``.
    func outcome() throws(MeasuringError) -> Outcome {
        while true {
            if let outcome = try look() { return outcome }
            let now = Instant.now()
            guard now < deadline else { throw setup.overdue }
            try wait(until: min(deadline, setup.isPolling ? now + pause(at: now) : deadline))
        }
    }

    /// The polling interval: short at first, then a hundredth of the elapsed time.
    private func pause(at now: Instant) -> Duration {
        if setup.mapsFiles { return .microseconds(200) }
        return max(MeasurementSession.resolution, (now - start) / 100)
    }

    private func wait(until limit: Instant) throws(MeasuringError) {
        if program.wait(until: limit, for: setup.messages.descriptors, or: setup.interruption) { throw .interrupted }
    }

    // MARK: Checks

    private func look() throws(MeasuringError) -> Outcome? {
        let hasExited = program.process.hasExited
        let now = Instant.now()
        if setup.mapsFiles { mappedFiles.formUnion(MappedFiles.paths(of: program.process.pid)) }
        for (signal, time) in setup.messages.receive() { reach(signal, at: time - start) }
        program.errors?.read()
        if let reached { return reached }
        if hasExited { return try exited(at: now - start) }
        if setup.polls(.listen), listen?.hasHappened({ program.tree.processes() }) == true {
            reach(.listen, at: now - start)
        }
        if setup.polls(.idle), let moment = idle.look(at: program.process.pid, now: now, counters: counters) {
            if setup.until == .idle {
                return outcome(.idle, wall: moment.time - start, moment.counters)
            }
            _ = choice.happened(.idle, at: moment.time - start)
        }
        if let reached { return reached }
        guard setup.until == nil, let signal = choice.choice(at: now - start) else { return nil }
        return outcome(signal, wall: now - start, counters())
    }

    private func reach(_ signal: LaunchGoal, at time: Duration) {
        guard reached == nil else { return }
        let isEnd = setup.until.map { $0 == signal } ?? (choice.happened(signal, at: time) != nil)
        if isEnd { reached = outcome(signal, wall: time, counters()) }
    }

    private func outcome(_ signal: LaunchGoal, wall: Duration, _ counters: ProcessCounters) -> Outcome {
        Outcome(signal: signal, wall: wall, counters: counters, instructions: setup.instructions.count)
    }

    /// Read the main process first, because its values must be from this moment.
    private func counters() -> ProcessCounters {
        var sum = ProcessCounters.read(program.process.pid) ?? ProcessCounters()
        guard ProcessCounters.hasChildren(program.process.pid) else { return sum }
        for pid in program.tree.processes() where pid != program.process.pid {
            if let counters = ProcessCounters.read(pid) { sum.add(counters) }
        }
        return sum
    }

    private func exited(at time: Duration) throws(MeasuringError) -> Outcome {
        program.errors?.read()
        guard let exit = try? program.process.waitExit(), let usage = exit.usage else {
            throw .refused("\(setup.name): another process collected its exit status")
        }
        let isExpected = setup.until == nil || setup.until == .exit
        guard isExpected, setup.ignoresFailure || exit.status == .exited(code: 0) else {
            throw setup.failure(exit.status, before: isExpected ? nil : setup.until, lastLine: program.errors?.lastLine)
        }
        var counters = ProcessCounters()
        counters.cpuTime = usage.userTime + usage.systemTime
        (counters.minorFaults, counters.majorFaults) = (usage.minorFaults, usage.majorFaults)
        counters.readBytes = usage.readBytes
        return outcome(.exit, wall: time, counters)
    }

    // MARK: Termination

    /// The time between SIGTERM and SIGKILL.
    private static let allowance = Duration.seconds(5)

    /// Terminates the program: SIGTERM, and after ``allowance`` SIGKILL to all of its processes.
    ///
    /// - Throws: ``MeasuringError`` if a process survives SIGKILL.
    func terminate() throws(MeasuringError) {
        if !program.process.hasExited { program.terminate(within: min(Self.allowance, setup.timeLimit)) }
        if let survivor = program.kill() {
            throw .refused("\(setup.name): process \(survivor) survives SIGKILL")
        }
    }
}
