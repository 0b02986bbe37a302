// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy
public import WatchdogWire

extension ClientMessage {
    /// What an app's message means to the policy, in order: signs of life first, then tasks that begin, then those that
    /// end.
    ///
    /// Requests for more time are left out: whether they count depends on how much the app says.
    public var processEvents: [ProcessEvent] {
        var events: [ProcessEvent] = []
        if let hello { events += hello.hasLifecycle ? [.hello, .lifecycle(.joined)] : [.hello] }
        if isReady { events.append(.ready(.channel)) }
        if let pong { events.append(.ponged(nonce: pong)) }
        if isStopping { events.append(.stopping) }
        events += tasksBegun.map { .lifecycle(.taskBegan(id: $0.id, name: $0.name)) }
        if let stateDone { events.append(.lifecycle(.stateDone(stateDone))) }
        // An event that was lost is done as well, and answered once.
        events += eventsLost.sorted().map { .lifecycle(.eventLost($0)) }
        if let eventDone, eventsLost.allSatisfy({ $0 < eventDone }) {
            events.append(.lifecycle(.eventDone(eventDone)))
        }
        events += tasksEnded.map { .lifecycle(.taskEnded(id: $0)) }
        return events
    }
}
