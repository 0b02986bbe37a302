// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Executes a ``LifecycleScript``, one command after the other, each on its own turn of the loop.
///
/// Isolation: the loop's thread.
final class ScriptRunner {
    private enum Progress {
        case done
        case waiting(until: Instant)
        case failed(String)
    }

    private let script: LifecycleScript
    private let scale: Double
    private let name: String
    private let supervisor: Supervisor
    private let loop: EventLoop
    private let onEnd: () -> Void
    /// Called with each fault that the script injects.
    var onFault: (Fault) -> Void = { _ in }
    private var timer: Timer?
    /// The deadline or wake-up time of the current command; nil before it has started.
    private var due: Instant?
    private var outcome: Outcome?
    private var incidents: [Incident] = []
    private var refusal: (request: LifecycleRequest, reason: LifecycleRefusal)?

    /// The results of the steps so far.
    private(set) var record: ScriptRecord
    private(set) var isOver = false
    /// The failure of the script; nil if it succeeded or still runs.
    var failure: String? { record.failure }

    /// Prepares a script.
    ///
    /// - Parameters:
    ///   - scale: multiplies sleep times, as it does allowances.
    ///   - onEnd: called once, at the end of the script.
    init(
        _ script: LifecycleScript, scale: Double, name: String, _ supervisor: Supervisor, _ loop: EventLoop,
        onEnd: @escaping () -> Void
    ) throws {
        self.script = script
        record = ScriptRecord(of: script, at: loop.now)
        self.scale = scale
        self.name = name
        self.supervisor = supervisor
        self.loop = loop
        self.onEnd = onEnd
        timer = try loop.timer { [unowned self] _ in advance() }
    }

    func begin() {
        record = ScriptRecord(of: script, at: loop.now)
        awaken()
    }

    func noticed(_ notice: Notice) {
        switch notice {
        case .transgressed(let incident): incidents.append(incident)
        case .lifecycle(.refused(let request, let reason)): refusal = refusal ?? (request, reason)
        case .launched, .ready, .slow, .hung, .starvationCredit, .overslept, .machineResumed, .paused, .resumed,
            .extended, .extensionRefused, .messageRefused, .terminating, .captureTimedOut, .exited, .unkillable,
            .lifecycle, .adopted, .channelLost, .probe, .marked:
            break
        }
        awaken()
    }

    func ended(_ outcome: Outcome) {
        self.outcome = outcome
        awaken()
    }

    /// Continues on the next turn of the loop, because the supervisor may be executing effects.
    private func awaken() {
        if !isOver { timer?.arm(at: loop.now) }
    }

    private func advance() {
        while !isOver {
            let index = record.index
            guard index < script.steps.count else { return end() }
            if let refusal {
                return fail(max(0, index - 1), "\(refusal.request) was refused: \(refusal.reason.words)")
            }
            switch perform(script.steps[index].command) {
            case .done:
                due = nil
                record.pass(at: loop.now)
            case .waiting(let instant):
                timer?.arm(at: instant)
                return
            case .failed(let reason):
                return fail(index, reason)
            }
        }
    }

    private func fail(_ index: Int, _ reason: String) {
        record.fail(index, because: reason, at: loop.now)
        end()
    }

    private func end() {
        isOver = true
        timer?.cancel()
        if outcome == nil { supervisor.requestTermination() }
        onEnd()
    }

    // MARK: - Commands

    private func perform(_ command: LifecycleScript.Command) -> Progress {
        switch command {
        case .launch:
            return outcome?.cause == .spawnFailed ? .failed("\(name) could not be started") : .done
        case .wait(let condition, let limit):
            return wait(for: condition, within: limit)
        case .request(let request):
            guard outcome == nil else { return .failed(ending) }
            supervisor.request(request)
            return .done
        case .inject(let fault):
            guard outcome == nil else { return .failed(ending) }
            onFault(fault)
            return .done
        case .terminate:
            guard outcome == nil else { return .failed(ending) }
            supervisor.requestTermination()
            return .done
        case .pass(let duration):
            let scaled = Duration.nanoseconds(Int64(min(Double(duration.nanoseconds) * scale, 9e18)))
            let end = due ?? loop.now + scaled
            due = end
            return loop.now >= end ? .done : .waiting(until: end)
        case .expect(let condition):
            switch condition {
            case .killed, .reported, .exited: return wait(for: condition, within: LifecycleScript.patience)
            case .ready, .state, .alive: return isMet(condition) ? .done : .failed(mismatch)
            }
        }
    }

    private func wait(for condition: LifecycleScript.Condition, within limit: Duration) -> Progress {
        if isMet(condition) { return .done }
        guard outcome == nil else { return .failed(mismatch) }
        let end = due ?? loop.now + limit
        due = end
        return loop.now >= end ? .failed("\(mismatch), after \(TimeSpan.text(limit))") : .waiting(until: end)
    }

    private func isMet(_ condition: LifecycleScript.Condition) -> Bool {
        switch condition {
        case .ready: return supervisor.machine.launchDuration != nil
        case .state(let state): return supervisor.machine.lifecycleState == state
        case .alive: return outcome == nil && supervisor.account.exitStatus == nil
        case .killed(let code, let event):
            guard case .watchdog(let incident) = outcome?.cause else { return false }
            return (code == nil || incident.code == code) && (event == nil || incident.event == event)
        case .reported(let code): return incidents.contains { code == nil || $0.code == code }
        case .exited(let code):
            switch outcome?.cause {
            case .exited, .terminated: return code.map { outcome?.status == .exited(code: $0) } ?? true
            case .spawnFailed, .killedOnRequest, .watchdog, nil: return false
            }
        }
    }

    /// A description of what happened instead.
    private var mismatch: String {
        guard outcome == nil else { return ending }
        let state = supervisor.machine.lifecycleState
        return
            "\(name) is \(state == .foreground || state == .background ? "in the \(state.rawValue)" : state.rawValue)"
    }

    private var ending: String {
        guard let outcome else { return "\(name) lives" }
        let narration = Narration(name: name, verbosity: .quiet)
        if case .watchdog(let incident) = outcome.cause {
            return "\(name) was killed: \(narration.reason(of: incident)) (\(incident.code.hexadecimal))"
        }
        return "\(name) \(narration.words(for: outcome))"
    }
}
