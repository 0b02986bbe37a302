// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogConversation
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogWire

/// Executes the ``FaultSchedule`` of a run.
///
/// Isolation: the loop's thread, which is the main thread.
final class FaultInjector {
    private var schedule: FaultSchedule
    private let limits: FaultLimits
    private let surroundings: FaultSurroundings
    private let shell: LaunchShell
    private let isQuiet: Bool
    private var timer: Timer?
    private var spinners: [Int: [Spinner]] = [:]
    private var beginnings: [Int: Instant] = [:]
    private var failures: [Int: String] = [:]
    private var networks: Set<Int> = []
    private var slowDisks: [Int: UInt64] = [:]
    private weak var remote: RemoteControl?

    /// Prepares the faults of a run.
    init(
        _ faults: [Fault], _ limits: FaultLimits, _ surroundings: FaultSurroundings, _ shell: LaunchShell,
        isQuiet: Bool
    ) throws {
        self.surroundings = surroundings
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
        // Deferred to the next turn of the loop, because the supervisor may be executing effects.
        timer?.arm(at: schedule.next)
    }

    /// Accepts the faults of a driver and of a script, and reports incomplete ones to the driver.
    func serve(_ remote: RemoteControl?, _ script: ScriptRunner?) {
        self.remote = remote
        remote?.onFault = { [unowned self] in inject($0) }
        script?.onFault = { [unowned self] in inject($0) }
    }

    /// Begins a fault now, or on the next turn of the loop.
    func inject(_ fault: Fault) {
        schedule.add(fault, at: shell.now)
        timer?.arm(at: schedule.next)
    }

    /// Ends all faults after the end of the app.
    func ended() {
        timer?.cancel()
        for step in schedule.end() { perform(step) }
    }

    /// The result of each fault; nil without faults.
    func summary(launchedAt: Instant?) -> [RunSummary.Fault]? {
        guard !schedule.faults.isEmpty else { return nil }
        return schedule.faults.indices.map { index in
            let beginning = beginnings[index].flatMap { instant in launchedAt.map { (instant - $0).milliseconds } }
            return RunSummary.Fault(
                fault: schedule.faults[index].description, milliseconds: beginning, failure: failures[index])
        }
    }

    private func advance() {
        for step in schedule.steps(at: shell.now) { perform(step) }
        timer?.arm(at: schedule.next)
    }

    private func perform(_ step: FaultSchedule.Step) {
        switch step {
        case .begin(let index): begin(index)
        case .end(let index): end(index)
        }
    }

    private func begin(_ index: Int) {
        let fault = schedule.faults[index]
        beginnings[index] = shell.now
        shell.evidence.faults.append(fault.description)
        if !isQuiet {
            let means = limits.means[fault.kind].map { ", as \($0)" } ?? ""
            StandardError.mention("injecting \(fault)\(means)", as: .info)
        }
        switch fault.kind {
        case .stop: shell.tree.pause()
        case .mainHang: hang(index)
        case .cpu(let processes): spin(processes, for: index)
        case .diskFull(let folder): attempt(index) { () throws(LinuxError) in try surroundings.disks[folder]?.fill() }
        case .ioSlow(let bytes):
            slowDisks[index] = bytes
            throttle(index)
            if let failure = limits.hold(shell.tree.processes) { fail(index, failure) }
        case .network:
            networks.insert(index)
            changeNetwork(index)
        case .cpuQuota, .memory:
            if let failure = limits.hold(shell.tree.processes) { fail(index, failure) }
        case .clock: break
        case .killWatchdogd: kill(getpid(), SIGKILL)
        }
    }

    private func end(_ index: Int) {
        spinners[index] = nil
        switch schedule.faults[index].kind {
        case .stop: shell.signal(SIGCONT)
        case .diskFull(let folder): attempt(index) { () throws(LinuxError) in try surroundings.disks[folder]?.clear() }
        case .ioSlow:
            slowDisks[index] = nil
            throttle(index)
        case .network:
            networks.remove(index)
            changeNetwork(index)
        case .mainHang, .cpu, .cpuQuota, .memory, .clock, .killWatchdogd: break
        }
    }

    /// Applies the slowest of the active limits on a disk.
    private func throttle(_ index: Int) {
        let bytes = slowDisks.values.min()
        attempt(index) { () throws(LinuxError) in try limits.throttle?.limit(to: bytes, shell.cgroup) }
    }

    private func hang(_ index: Int) {
        guard shell.acceptsFaults else {
            return fail(
                index, "the program did not send FAULTS=1; link a client library, or handle HANG_USEC on the main loop")
        }
        var message = SupervisorMessage()
        message.hang = schedule.faults[index].duration
        if !shell.requestHang(message) { fail(index, "the program has closed its channel, or does not read it") }
    }

    private func changeNetwork(_ index: Int) {
        let active = networks.sorted().compactMap { index in
            if case .network(let network) = schedule.faults[index].kind { network } else { nil }
        }
        attempt(index) { () throws(LinuxError) in try surroundings.network?.apply(active) }
    }

    private func spin(_ processes: Int, for index: Int) {
        attempt(index) { () throws(LinuxError) in
            for _ in 0..<processes { spinners[index, default: []].append(try Spinner()) }
        }
    }

    private func attempt(_ index: Int, _ body: () throws(LinuxError) -> Void) {
        do throws(LinuxError) {
            try body()
        } catch {
            fail(index, "\(error)")
        }
    }

    private func fail(_ index: Int, _ reason: String) {
        let fault = schedule.faults[index]
        failures[index] = reason
        StandardError.mention("the fault \(fault) is incomplete: \(reason)", as: .error)
        remote?.tell(.limited(reason: "the fault \(fault) is incomplete: \(reason)"))
    }
}
