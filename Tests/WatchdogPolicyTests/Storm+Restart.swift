// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import WatchdogBase
import WatchdogPolicy

extension Storm {
    /// What a supervisor keeps of a machine: all of it when it changed, else its pulse.
    struct Memory {
        private var saved: ProcessMachine
        private var bare: ProcessMachine
        private var checkpoint: ProcessMachine.Checkpoint
        private var pulse: ProcessMachine.Pulse?

        init(_ machine: ProcessMachine) {
            saved = machine
            bare = machine.withoutPulse
            checkpoint = ProcessMachine.Checkpoint(of: machine)
        }

        /// - Returns: what is wrong with the answer to what has to be saved.
        mutating func save(_ machine: inout ProcessMachine) -> String? {
            let before = machine
            let change = machine.change(since: checkpoint)
            guard machine == before else { return "a comparison has changed the machine" }
            guard change.isWhole == (machine.withoutPulse != bare), change.pulse == machine.pulse else {
                return "what has to be saved is not what has changed"
            }
            pulse = change.isWhole ? nil : change.pulse
            guard change.isWhole else { return nil }
            saved = machine
            bare = machine.withoutPulse
            checkpoint = ProcessMachine.Checkpoint(of: machine)
            return nil
        }

        func restored() throws -> ProcessMachine? {
            let bytes = try JSONEncoder().encode(saved.saved)
            return ProcessMachine(resuming: try JSONDecoder().decode(SavedProcess.self, from: bytes), pulse: pulse)
        }
    }

    /// The supervisor is killed, and another goes on with what it finds: everything but what is only counted.
    mutating func restart(_ isTracing: Bool) -> String? {
        let restored: ProcessMachine
        do {
            guard let machine = try memory.restored() else { return "nothing to go on with" }
            restored = machine
        } catch {
            return "\(error)"
        }
        let expected = ProcessMachine(resuming: machine)
        guard restored.nextDeadline == expected?.nextDeadline else {
            return
                "next deadline \(String(describing: restored.nextDeadline)) instead of \(String(describing: machine.nextDeadline))"
        }
        guard restored.pulse == machine.pulse, restored.phase == machine.phase,
            restored.withoutPulse == expected?.withoutPulse
        else { return "not what was saved" }
        machine = restored
        if let resumed = ProcessMachine(resuming: twin) { twin = resumed }
        ledger.restarted(strays: restored.strayAnswers)
        for _ in 0..<generator.below(3) {
            pass()
            if let complaint = step(waiting(), isTracing) { return complaint }
        }
        pass()
        return step(.supervisorReturned(isLastStepDone: !generator.oneIn(4)), isTracing)
    }

    /// What was in the sockets while nobody read them.
    private mutating func waiting() -> ProcessEvent {
        switch generator.below(6) {
        case 0: .exited(.unknown)
        case 1: .watchdogPinged
        case 2: .ready(.channel)
        case 3: .hello
        default: .ponged(nonce: usedNonces.last ?? 0)
        }
    }
}
