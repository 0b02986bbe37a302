// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import WatchdogBase
import WatchdogPolicy

extension Storm {
    /// The part of a machine that a supervisor saves: all of it after a change, otherwise its pulse.
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

        /// - Returns: what is wrong with the machine's list of changes.
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

    /// Kills the supervisor; another continues with the saved state, which lacks only recent counts.
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

    /// An event that waited in the sockets.
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
