// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
public import WatchdogReport
import WatchdogVerdict

/// Whose fault an incident is, as far as the evidence goes.
public struct Blame: Equatable, Sendable, Codable {
    /// Who is at fault.
    public enum Party: String, Codable, Sendable {
        /// The app's own code.
        case app
        /// The machine: load, quota, disk.
        case machine
        /// Both: its main thread computed whenever it had a CPU, which it seldom had.
        case appAndMachine = "app and machine"
        /// Whoever stopped, traced or froze the app.
        case somebodyElse = "somebody else"
        /// The evidence does not show it.
        case unknown
    }

    /// Who is at fault.
    public let party: Party
    /// Why, in one sentence without a trailing period.
    public let reason: String

    /// The share of the machine's CPU time from which on a starved app has itself used up the CPUs.
    private static let ownShare = 0.5

    /// A main thread that ran for at least this long, or for its whole allowance, would have been a hang on an idle machine
    /// as well: it is the length from which hangs are reported by default.
    private static let computing = VerdictThresholds.computingTime
    /// A thread that never slept seems to have slept for this long, because the kernel counts a wait for a CPU only once
    /// it is over.
    private static let uncounted = Duration.milliseconds(100)

    /// Judges a report.
    public init(for report: Report) {
        self.init(ofMainThread: report)
        // What is said of the main thread is that of the worker.
        if let worker = report.worker { self = Blame(party, "\(worker): \(reason)") }
    }

    private init(ofMainThread report: Report) {
        guard let linux = report.body.linux else {
            self.init(foreign: report)
            return
        }
        guard linux.allowance.kind != "triggered" else {
            self.init(.app, "it requested its own termination")
            return
        }
        if let lifecycle = linux.lifecycle, let brief = lifecycle.brief {
            let isBusy = report.body.termination?.code == TerminationCode.machineBusy.code
            self.init(
                isBusy ? .machine : .app, isBusy ? "the machine had no CPU for the app's background tasks" : brief)
            return
        }
        let verdict = linux.verdict
        let shares = verdict.runningTenths.map(percentText(tenths:)) ?? "an unknown share"
        if let deadlock = Deadlock(report) {
            self.init(.app, deadlock.reason)
            return
        }
        if let fault = ProcessFault(linux) {
            self.init(fault.party, fault.reason)
            return
        }
        if let missed = MissedAdvice(linux, call: report.faultingStack?.systemCall?.name) {
            self.init(missed.party, missed.reason)
            return
        }
        switch verdict.kind {
        case .blocked:
            if let other = linux.findings?.first(where: { $0.kind == .otherThread }) {
                self.init(.app, other.clause)
                return
            }
            if linux.isWaitingForMemoryMap {
                self.init(
                    .unknown,
                    "another thread, or a program that reads its memory or /proc, held the lock of its memory map")
                return
            }
            if let silence = Self.silence(linux) {
                self.init(.machine, silence)
                return
            }
            let circles: Set<Finding.Kind> = [.pythonDeadlock, .javaDeadlock, .goroutineDeadlock]
            if linux.findings?.contains(where: { circles.contains($0.kind) }) == true {
                self.init(.app, "its threads wait for locks, and none is left that could let go of one")
                return
            }
            if linux.findings?.contains(where: { $0.kind == .noOtherThread }) == true {
                self.init(.app, "its only thread waits for what only another thread could give")
                return
            }
            self.init(.app, "its own code made the call that blocks")
        case .spinning where (verdict.waitingTenths ?? 0) <= (verdict.runningTenths ?? 0):
            self.init(.app, "its main thread ran for \(shares) of the time without returning to its loop")
        case .spinning, .starved:
            let processes = Self.shareOfProcesses(linux) ?? 0
            if let share = Self.shareOfCPU(report.body), share >= Self.ownShare {
                let percent = Int((share * 100).rounded())
                self.init(.app, "its own threads took \(percent) % of the CPU time that its main thread waited for")
            } else if processes >= Self.ownShare {
                let percent = Int((processes * 100).rounded())
                self.init(.app, "its own processes took \(percent) % of the CPU time that its main thread waited for")
            } else if let ran = Self.computing(linux) {
                self.init(
                    .appAndMachine,
                    "the main thread never slept and ran for \(ran) s without coming back, while others had the CPUs")
            } else if verdict.kind == .spinning {
                self.init(.appAndMachine, "the main thread computed whenever it had a CPU, and waited longer for one")
            } else {
                self.init(.machine, "the main thread could run, but others had the CPUs")
            }
        case .throttled:
            if let ran = Self.computing(linux) {
                self.init(
                    .appAndMachine,
                    "the main thread never slept and ran for \(ran) s without coming back, until the CPU quota was used up"
                )
            } else {
                self.init(.machine, "its cgroup's CPU quota was used up; its own work may have used it")
            }
        case .memoryStalled: self.init(.machine, "memory was short, and its pages had to be read from disk")
        case .busy:
            let waiting = verdict.waitingTenths ?? 0
            let isLoaded = waiting > (verdict.runningTenths ?? 0)
            self.init(
                isLoaded ? .appAndMachine : .app,
                isLoaded
                    ? "the main thread waited longer for a CPU than it ran"
                    : "the main thread ran longer than it waited for a CPU")
        case .partlyRunning: self.init(.app, "its main thread both ran and slept without coming back to its loop")
        case .uninterruptible where linux.isOnFrozenFileSystem:
            self.init(.somebodyElse, "the file system was frozen, as for a snapshot or a backup")
        case .uninterruptible:
            self.init(
                .machine, Self.silence(linux) ?? "the main thread slept in the kernel, where no signal reaches it")
        case .stopped: self.init(.somebodyElse, "a signal had stopped the process")
        case .traced: self.init(.somebodyElse, "a debugger or tracer held the process")
        case .frozen: self.init(.somebodyElse, "the process's cgroup was frozen")
        case .exited: self.init(.app, "its main thread had ended while others kept the process alive")
        case .unknown: self.init(.unknown, "there is no evidence of what the main thread did")
        case .crashed where report.isStackOverflow: self.init(.app, "its own calls used up the stack")
        case .crashed: self.init(.app, Self.crash(linux.crash))
        case .killed:
            switch linux.crash.map(\.isMemoryKill) ?? false {
            case true?: self.init(.machine, "memory was exhausted; its own use may have exhausted it")
            case nil: self.init(.unknown, "somebody or the kernel ended it; memory has been short since the launch")
            case false?: self.init(.somebodyElse, "a signal from outside, not from watchdogd, ended it")
            }
        case .failed: self.init(.app, "it ended itself with an exit code that means failure")
        }
    }

    /// The file system of another process or machine that did not answer; nil if the main thread waited for none.
    private static func silence(_ linux: LinuxDetails) -> String? {
        linux.waits?.first?.servedFileSystem.map { "the file system (\($0)) did not answer" }
    }

    /// The seconds for which the main thread ran, if it never slept and ran long enough to be at fault itself.
    private static func computing(_ linux: LinuxDetails) -> String? {
        let allowance = Duration.nanoseconds(linux.allowance.nanoseconds)
        guard let times = linux.mainThreadTimes, times.running >= min(computing, allowance),
            times.sleeping <= uncounted
        else { return nil }
        return times.running.seconds(fractionDigits: 2)
    }

    private static func crash(_ crash: CrashDetails?) -> String {
        switch crash?.signal {
        case SignalText.abort: "its own code gave up and called abort()"
        case SignalText.illegal, SignalText.trap: "its own code hit a trap or an invalid instruction"
        case SignalText.segmentation, SignalText.bus: "its own code accessed memory that it may not access"
        case SignalText.arithmetic: "its own code performed an invalid arithmetic operation"
        case SignalText.systemCall: "its own code made a forbidden system call"
        default: "it did not handle a signal that it was sent"
        }
    }

    private init(_ party: Party, _ reason: String) {
        self.party = party
        self.reason = reason
    }

    /// A foreign report says how the process ended, but not what its main thread did.
    private init(foreign report: Report) {
        let isKill = report.body.exception.signal == "SIGKILL"
        self.init(
            isKill ? .unknown : .app,
            isKill
                ? "the report says who killed it, but nothing about the time before"
                : "an instruction of its own process raised the exception")
    }

    /// The share that the app and its children had of all CPU time while the main thread was sampled.
    private static func shareOfProcesses(_ linux: LinuxDetails) -> Double? {
        let parts = linux.evidence.first { $0.what == Strain.ownTime }?.value.split(separator: " ") ?? []
        guard parts.count == 5, let own = Double(parts[0]), let total = Double(parts[3]), total > 0 else { return nil }
        return min(own / total, 1)
    }

    /// The app's share of the CPU time of all processes, parsed from two lines of the termination reasons.
    private static func shareOfCPU(_ body: ReportBody) -> Double? {
        func seconds(_ mark: String) -> Double? {
            let line = (body.termination?.reasons ?? []).first { $0.contains(mark) }
            return line?.firstRange(of: "(seconds): ").flatMap { range in
                Double((line ?? "")[range.upperBound...].prefix { $0.isASCIIDigit || $0 == "." })
            }
        }
        guard let total = seconds("Elapsed total CPU time"), total > 0,
            let own = seconds("Elapsed application CPU time")
        else { return nil }
        return min(own / total, 1)
    }
}
