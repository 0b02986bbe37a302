// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy
public import WatchdogWire

extension SupervisorMessage {
    /// The message for an effect; empty for effects that send none.
    public init(_ effect: LifecycleEffect) {
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
        case .deliver(let kind, let payload, let sender, let id):
            event = Event(kind: kind, id: id, payload: payload, sender: sender)
        case .freeze, .thaw, .measure:
            break
        }
    }
}
