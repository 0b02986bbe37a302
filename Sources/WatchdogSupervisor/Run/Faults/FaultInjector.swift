// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// Executes the ``FaultSchedule`` of a run.
///
/// Isolation: the loop's thread, which is the main thread.
final class FaultInjector {
    private var schedule: FaultSchedule
    private let limits: FaultLimits
    private let disks: FaultDisks
    private let shell: LaunchShell
    private let isQuiet: Bool
    private var timer: Timer?
    private var spinners: [Int: [Spinner]] = [:]
    private var beginnings: [Int: Instant] = [:]

    /// Prepares the faults of a run; nil if there are none.
    init?(
        _ faults: [Fault], _ limits: FaultLimits, _ disks: FaultDisks, _ shell: LaunchShell, isQuiet: Bool
    ) throws {
        guard !faults.isEmpty else { return nil }
        self.disks = disks
        schedule = FaultSchedule(faults)
        self.limits = limits
        self.shell = shell
        self.isQuiet = isQuiet
        timer = try shell.host.timer { [unowned self] _ in advance() }
    }

    func noticed(_ notice: Notice) {
        switch notice {
        case .launched: schedule.reached(.launch, at: shell.now)
        case .ready: schedule.reached(.ready, at: shell.now)
        default: return
        }
        // On the next turn of the loop, because the supervisor may be in the middle of executing effects.
        timer?.arm(at: schedule.next)
    }

    /// Ends all faults, because the app has ended.
    func ended() {
        timer?.cancel()
        for step in schedule.end() { perform(step) }
    }

    /// What became of each fault.
    func summary(launchedAt: Instant?) -> [RunSummary.Fault] {
        schedule.faults.indices.map { index in
            let beginning = beginnings[index].flatMap { instant in launchedAt.map { (instant - $0).milliseconds } }
            return RunSummary.Fault(fault: schedule.faults[index].description, milliseconds: beginning)
        }
    }

    private func advance() {
        for step in schedule.steps(at: shell.now) { perform(step) }
        timer?.arm(at: schedule.next)
    }

    private func perform(_ step: FaultSchedule.Step) {
        switch step {
        case .begin(let index): begin(index)
        case .end(let index):
            spinners[index] = nil
            switch schedule.faults[index].kind {
            case .stop: shell.signal(SIGCONT)
            case .diskFull(let folder):
                change(schedule.faults[index], folder) { disk throws(LinuxError) in try disk.clear() }
            case .cpu, .cpuQuota, .memory: break
            }
        }
    }

    private func begin(_ index: Int) {
        let fault = schedule.faults[index]
        beginnings[index] = shell.now
        shell.evidence.faults.append(fault.description)
        if !isQuiet {
            let means = limits.means[fault.kind].map { ", as \($0)" } ?? ""
            StandardError.say("injects the fault \(fault)\(means)", as: .info)
        }
        switch fault.kind {
        case .stop: shell.tree.pause()
        case .diskFull(let folder): change(fault, folder) { disk throws(LinuxError) in try disk.fill() }
        case .cpu(let processes): spin(processes, for: index)
        case .cpuQuota, .memory:
            if let failure = limits.hold(shell.tree.processes) { fail(fault, failure) }
        }
    }

    private func spin(_ processes: Int, for index: Int) {
        do throws(LinuxError) {
            for _ in 0..<processes { spinners[index, default: []].append(try Spinner()) }
        } catch {
            fail(schedule.faults[index], "\(error)")
        }
    }

    private func change(_ fault: Fault, _ folder: String, _ body: (SmallDisk) throws(LinuxError) -> Void) {
        do throws(LinuxError) {
            if let disk = disks[folder] { try body(disk) }
        } catch {
            fail(fault, "\(error)")
        }
    }

    private func fail(_ fault: Fault, _ reason: String) {
        StandardError.say("the fault \(fault) is incomplete: \(reason)", as: .error)
    }
}
