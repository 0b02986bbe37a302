// SPDX-License-Identifier: Apache-2.0

internal import WatchdogConversation

/// The events of an app so far.
struct AppHistory: Sendable {
    /// The position of an entry, counted from 1.
    typealias Position = Int

    private(set) var events: [RemoteEvent] = []
    private(set) var process: Int32?
    private(set) var launchDuration: Duration?
    private(set) var state: String?
    private(set) var incidents: [RemoteIncident] = []
    private(set) var limits: [String] = []
    private(set) var end: RemoteEnd?
    /// Whether watchdogd has exited.
    private(set) var isOver = false

    var position: Position { events.count }

    /// The paths of the crash logs of kills, exhausted allowances and the end.
    var reports: [String] { incidents.compactMap(\.report) + [end?.report].compactMap(\.self) }

    mutating func add(_ event: RemoteEvent) {
        events.append(event)
        switch event {
        case .launched(let pid): process = pid
        case .ready(let after, _): launchDuration = .microseconds(after)
        case .state(let state): self.state = state
        case .incident(let incident): incidents.append(incident)
        case .limited(let reason): limits.append(reason)
        case .ended(let end): self.end = end
        case .hello, .marked, .handled, .lost, .injected, .refused, .hung: break
        }
    }

    mutating func finish() { isOver = true }

    /// The reason why a request sent after a position was refused; nil if it was not.
    func refusal(after position: Position) -> String? {
        for case .refused(let request, let reason) in events[position...] { return "\(request) was refused: \(reason)" }
        return nil
    }
}
