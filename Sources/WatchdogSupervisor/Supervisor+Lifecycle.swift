// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogPolicy
import WatchdogWire

extension Supervisor {
    /// Beginnings first, ends last: so the order within one datagram is defined.
    func lifecycleEvents(of message: ClientMessage) -> [AppEvent] {
        var events: [LifecycleEvent] = message.tasksBegun.map { .taskBegan(id: $0.id, name: $0.name) }
        if let id = message.stateDone { events.append(.stateDone(id)) }
        if let id = message.eventDone { events.append(.eventDone(id)) }
        events += message.tasksEnded.map { .taskEnded(id: $0) }
        return events.map { .lifecycle($0) }
    }
}

extension SupervisorMessage {
    /// What an app is told by an effect; says nothing for effects that are no message.
    init(_ effect: LifecycleEffect) {
        self.init()
        switch effect {
        case .enter(let visibility, let id, let time):
            transition = Transition(to: visibility == .foreground ? .foreground : .background, id: id)
            backgroundTime = time
        case .grant(let time):
            backgroundTime = time
        case .expire(let time):
            isExpiring = true
            backgroundTime = time
        case .deliver(let kind, let payload, let id):
            event = Event(kind: kind, id: id, payload: payload)
        case .freeze, .thaw, .measure:
            break
        }
    }
}

extension AppSpec {
    /// The same spec, with what the policy has to know of the machine.
    var onThisMachine: AppSpec {
        var copy = self
        copy.lifecycle.processorCount = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        return copy
    }
}
