// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase
import WatchdogLinux

/// Measures launches, one after the other, without any recording that would slow them down.
///
/// Isolation: the main thread, which must be the only one so far.
public final class MeasurementSession {
    /// The polling interval for events that the kernel does not announce; a hundredth of the launch if that is longer.
    public static let resolution = Duration.milliseconds(1)

    /// The progress of a session.
    public struct Progress: Equatable, Sendable {
        /// The number of completed launches.
        public let completed: Int
        /// The number of all launches; nil if the measurement ends when its answer is clear.
        public let total: Int?
        /// The estimated time of the remaining ones, from the completed ones, or the rest of the time limit; nil before
        /// the first launch.
        public let remaining: Duration?

        init(completed: Int, total: Int, elapsed: Duration) {
            self.completed = completed
            self.total = total
            remaining = completed > 0 ? elapsed / completed * (total - completed) : nil
        }

        init(completed: Int, _ time: ComparisonTime) {
            self.completed = completed
            total = nil
            remaining = completed > 0 ? max(.zero, time.limit - time.elapsed) : nil
        }
    }

    private let plan: MeasurementPlan
    private let programs: [MeasuredProgram: (name: String, executable: String, arguments: [String])]
    private let messages: LaunchMessages
    private let interruption: OwnedDescriptor
    private let data: DataCopy?
    private let quota: CPUQuota?
    private let instructions: InstructionCounter
    private var eviction = FileEviction()
    private var launches = 0

    /// Prepares the shared state of the launches.
    ///
    /// - Throws: ``MeasuringError`` if a program or file does not exist, or this machine does not support the plan.
    public init(_ plan: MeasurementPlan) throws(MeasuringError) {
        self.plan = plan
        do {
            // Do this first: an unprivileged process can create a user namespace only while it has one thread.
            if !plan.hasNetwork { try EmptyNetwork.enter() }
        } catch {
            throw .unavailable(
                "--no-network: \(error); run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone)"
            )
        }
        var programs: [MeasuredProgram: (name: String, executable: String, arguments: [String])] = [:]
        for (program, command) in [(MeasuredProgram.new, plan.command), (.old, plan.oldCommand ?? [])] {
            guard let first = command.first else { continue }
            do throws(ExecutableLookupError) {
                let executable = try resolveExecutable(first, path: plan.environment.searchPath)
                programs[program] = (first, executable, command)
            } catch {
                throw .lookup(error)
            }
        }
        self.programs = programs
        instructions = InstructionCounter()
        do throws(LinuxError) {
            try Subreaper.become()
            messages = try LaunchMessages()
        } catch {
            throw .refused("\(error)")
        }
        data = try plan.data.map { path throws(MeasuringError) in try DataCopy(of: path) }
        do throws(CPUQuota.Unavailable) {
            quota = try plan.cpuQuota.map { share throws(CPUQuota.Unavailable) in try CPUQuota(share: share) }
        } catch {
            throw .unavailable(
                "--cpu-quota: cannot limit the CPU: \(error); run as root, or in a systemd unit with Delegate=cpu")
        }
        do throws(LinuxError) {
            interruption = try Interruption.descriptor()
        } catch {
            throw .refused("\(error)")
        }
    }

    /// Executes the launches of the plan.
    ///
    /// - Parameter onProgress: Called before each launch.
    /// - Throws: ``MeasuringError`` with the first failure; no process of the program remains then.
    public func measure(onProgress: (Progress) -> Void) throws(MeasuringError) -> Measurement {
        let until = try findOut()
        let meter = NoiseMeter()
        let begin = Instant.now()
        var measurement = Measurement(
            command: plan.command, oldCommand: plan.oldCommand, until: until, isUntilChosen: plan.until == nil,
            resolution: until == .listen || until == .idle ? Self.resolution : nil, runs: [], conditions: conditions)
        switch plan.runs {
        case .exactly(let runs):
            let programs = plan.oldCommand == nil ? 1 : 2
            var numbers = plan.discard + runs
            var number = 0
            while number < numbers {
                try add(number, to: &measurement) { completed in
                    onProgress(Progress(completed: completed, total: numbers * programs, elapsed: .now() - begin))
                }
                number += 1
                if number == numbers { numbers += measurement.missing(of: runs) }
            }
        case .untilDecided(let threshold, let limit):
            var watch = ComparisonWatch(threshold: threshold, limit: limit)
            var number = 0
            repeat {
                try add(number, to: &measurement) { completed in
                    onProgress(
                        Progress(completed: completed, ComparisonTime(elapsed: .now() - begin, limit: limit)))
                }
                number += 1
            } while watch.needsPair(after: measurement, elapsed: .now() - begin)
            measurement.sequence = ComparisonTime(elapsed: .now() - begin, limit: limit)
        }
        measurement.noise = meter.noise()
        return measurement
    }

    /// Records launches of the measured program for their phases; nil if they cannot be recorded.
    ///
    /// Not for cold launches, whose phases would mostly show the disk, and not with a quota, which does not cover the
    /// recorder's programs.
    public func phases(until: LaunchGoal) throws(MeasuringError) -> PhaseTimes? {
        guard !plan.isCold, plan.cpuQuota == nil else { return nil }
        var environment = plan.environment
        if let data { environment[DataCopy.variable] = data.path }
        return try PhaseRecording(
            command: plan.command.map { data?.fill($0) ?? $0 }, environment: environment, until: until,
            timeLimit: plan.timeLimit, interruption: interruption,
            prepare: { () throws(MeasuringError) in try self.data?.renew() }
        ).phases()
    }

    /// Makes the next run, or pair of runs.
    ///
    /// - Parameters:
    ///   - number: Its number, from 0, with those that are discarded.
    ///   - announce: Called before each launch with the number of completed ones.
    private func add(
        _ number: Int, to measurement: inout Measurement, announce: (Int) -> Void
    ) throws(MeasuringError) {
        for program in PairOrder.programs(pair: number, isComparison: plan.oldCommand != nil) {
            announce(measurement.runs.count)
            try measurement.add(run(program, number: number + 1 - plan.discard, until: measurement.until))
        }
    }

    private func run(
        _ program: MeasuredProgram, number: Int, until: LaunchGoal
    ) throws(MeasuringError) -> (run: MeasuredRun, evicted: Int64?) {
        try data?.renew()
        let rest = try evict()
        let before = instructions.count
        let outcome = try launch(program, until: until, mapsFiles: false).outcome
        let run = MeasuredRun(
            program: program, number: number, wall: outcome.wall, cpu: outcome.counters.cpuTime,
            instructions: before.flatMap { before in outcome.instructions.map { $0 - before } },
            minorFaults: outcome.counters.minorFaults, majorFaults: outcome.counters.majorFaults,
            readBytes: outcome.counters.readBytes, residentBytes: rest?.resident)
        return (run, rest?.size)
    }

    /// Makes a first launch of each program whose end or files are unknown.
    private func findOut() throws(MeasuringError) -> LaunchGoal {
        if plan.isCold {
            for path in plan.evicted { try eviction.add(path, option: "--evict") }
        }
        guard plan.until == nil || plan.isCold else { return plan.until ?? .exit }
        var until = plan.until
        for program in [MeasuredProgram.new, .old] where programs[program] != nil {
            try data?.renew()
            let (outcome, files) = try launch(program, until: until, mapsFiles: plan.isCold)
            until = until ?? outcome.signal
            eviction.add(mapped: files)
            if plan.isCold, let path = programs[program]?.executable { try eviction.add(path, option: "--cold") }
            // The second program's files are needed only for cold runs.
            if !plan.isCold { break }
        }
        return until ?? .exit
    }

    private func evict() throws(MeasuringError) -> FileEviction.Result? {
        guard plan.isCold else { return nil }
        var eviction = eviction
        if let data { try eviction.add(data.path, option: "--data") }
        return eviction.evict()
    }

    private func launch(
        _ program: MeasuredProgram, until: LaunchGoal?, mapsFiles: Bool
    ) throws(MeasuringError) -> (outcome: MeasuredLaunch.Outcome, files: Set<String>) {
        let launch = try MeasuredLaunch(setup(of: program, until: until, mapsFiles: mapsFiles))
        do throws(MeasuringError) {
            let outcome = try launch.outcome()
            try launch.terminate()
            return (outcome, launch.mappedFiles)
        } catch {
            try? launch.terminate()
            throw error
        }
    }

    private func setup(of program: MeasuredProgram, until: LaunchGoal?, mapsFiles: Bool) -> LaunchSetup {
        guard let (name, executable, arguments) = programs[program] else { preconditionFailure("no such program") }
        let words = arguments.map { data?.fill($0) ?? $0 }
        var request = SpawnRequest(executable: executable, arguments: words, environment: plan.environment)
        launches += 1
        // Padded to a constant length: the size of the environment moves the stack.
        let marker = "\(getpid().padded(10))-\(launches.padded(10))"
        if let data { request.environment[DataCopy.variable] = data.path }
        request.descriptors = []
        request.cgroup = quota?.directory
        return LaunchSetup(
            request: request, name: name, marker: ("WATCHDOGD_MEASUREMENT", marker), until: until,
            timeLimit: plan.timeLimit, showsOutput: plan.showsOutput, ignoresFailure: plan.ignoresFailure,
            mapsFiles: mapsFiles, messages: messages, interruption: interruption, instructions: instructions)
    }

    private var conditions: MeasurementConditions {
        MeasurementConditions(
            kernel: Machine.kernelRelease, system: Machine.systemName, cpuModel: Machine.processorModel,
            cpus: Machine.processorCount, watchdogd: plan.version, isCold: plan.isCold, hasNetwork: plan.hasNetwork,
            cpuQuotaPercent: plan.cpuQuota.map { $0 * 100 }, data: plan.data,
            environment: MeasuredEnvironment.dictionary(plan.environment))
    }
}
