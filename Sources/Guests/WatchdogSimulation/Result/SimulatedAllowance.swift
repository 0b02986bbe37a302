// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// An allowance that a simulation can vary; the raw value is its key in app files.
public enum SimulatedAllowance: String, Hashable, Sendable, CaseIterable {
    /// `Launch=`.
    case launch = "Launch"
    /// `BackgroundLaunch=`, for an app that is launched into the background.
    case backgroundLaunch = "BackgroundLaunch"
    /// `Update=`.
    case update = "Update"
    /// `ProbeTimeout=`.
    case probeTimeout = "ProbeTimeout"
    /// `Terminate=`.
    case terminate = "Terminate"
    /// `EnterBackground=`.
    case enterBackground = "EnterBackground"
    /// `Background=`.
    case background = "Background"

    func applies(to spec: AppSpec) -> Bool {
        switch self {
        case .launch: !spec.lifecycle.launchesInBackground
        case .backgroundLaunch: spec.lifecycle.launchesInBackground
        case .probeTimeout: spec.livenessProbe != nil
        case .update, .terminate, .enterBackground, .background: true
        }
    }

    /// The length of the allowance; zero if the app has none.
    func value(in spec: AppSpec) -> Duration {
        switch self {
        case .launch: spec.allowances.launch
        case .backgroundLaunch: spec.lifecycle.backgroundLaunch
        case .update: spec.allowances.update
        case .probeTimeout: spec.livenessProbe?.timeout ?? .zero
        case .terminate: spec.allowances.terminate
        case .enterBackground: spec.lifecycle.enterBackground
        case .background: spec.lifecycle.background
        }
    }

    func set(_ value: Duration, in spec: inout AppSpec) {
        let value = min(max(.milliseconds(1), value), TraceEvent.longest)
        switch self {
        case .launch: spec.allowances.launch = value
        case .backgroundLaunch: spec.lifecycle.backgroundLaunch = value
        case .update: spec.allowances.update = value
        case .probeTimeout: spec.livenessProbe?.timeout = value
        case .terminate: spec.allowances.terminate = value
        case .enterBackground: spec.lifecycle.enterBackground = value
        case .background:
            spec.lifecycle.background = value
            spec.lifecycle.expiration = min(spec.lifecycle.expiration, value)
        }
    }

    /// Whether this allowance determines the time of an incident.
    func decides(_ incident: Incident) -> Bool {
        let isProbe = if case .probesFailed = incident.cause { true } else { false }
        return switch self {
        case .launch, .backgroundLaunch:
            (incident.event == .processLaunch || incident.event == .sceneCreate) && incident.cause == .exhausted
        case .update: incident.event == .sceneUpdate && incident.cause == .exhausted
        case .probeTimeout: isProbe
        case .terminate: incident.event == .processExit
        // Entering a state has its own allowance.
        case .enterBackground: incident.event == .sceneUpdate && incident.cause == .exhausted
        case .background: incident.event == .backgroundTask && !isProbe
        }
    }

    /// The times that the app actually took in the trace.
    func times(in launch: RecordedLaunch) -> TakenTimes {
        var times = TakenTimes()
        switch self {
        case .launch, .backgroundLaunch:
            if let ready = launch.ready, launch.events.first?.kind == .launched {
                if ready.source != .exec, ready.source != .assumed { times.add(ready.at - launch.start) }
            } else {
                addPast(.processLaunch, launch, &times)
                addPast(.sceneCreate, launch, &times)
            }
        case .update:
            for question in [TraceEvent.Question.ping, .foreground, .event] {
                for answer in launch.questions[question]?.all ?? [] { addLatency(of: answer, in: launch, &times) }
            }
            if !launch.answersPings { addPushes(in: launch, &times) }
        case .probeTimeout:
            for probe in launch.probes.all {
                if let latency = probe.latency, probe.result == .answered { times.add(latency) }
            }
        case .terminate:
            var asked: Duration?
            for event in launch.events {
                if case .terminating = event.kind { asked = asked ?? event.at }
                if case .exited = event.kind, let asked {
                    times.add(event.at - asked, isCut: hasKill(.processExit, launch))
                }
            }
        case .enterBackground:
            for answer in launch.questions[.background]?.all ?? [] { addLatency(of: answer, in: launch, &times) }
        case .background: addStays(in: launch, &times)
        }
        return times
    }

    private func addLatency(of answer: Answers.Answer, in launch: RecordedLaunch, _ times: inout TakenTimes) {
        if let latency = answer.latency {
            times.add(latency)
        } else if launch.incidents.contains(where: { $0.event == .sceneUpdate }) {
            times.add(launch.end - answer.sent, isCut: true)
        }
    }

    private func addPushes(in launch: RecordedLaunch, _ times: inout TakenTimes) {
        var last: Duration?
        for event in launch.events where event.kind == .pushed {
            if let last { times.add(event.at - last) }
            last = event.at
        }
        if let last, hasKill(.sceneUpdate, launch) { times.add(launch.end - last, isCut: true) }
    }

    /// Adds the times for which tasks kept the app running in the background.
    private func addStays(in launch: RecordedLaunch, _ times: inout TakenTimes) {
        var open: Set<UInt64> = []
        var since: Duration?
        for event in launch.events {
            switch event.kind {
            case .taskBegan(let id, _): open.insert(id)
            case .answered(.background, _): since = event.at
            case .requested(.foreground): since = nil
            case .taskEnded(let id):
                guard open.remove(id) != nil, open.isEmpty, let begun = since else { continue }
                times.add(event.at - begun)
            case .exited:
                guard !open.isEmpty, let begun = since, hasKill(.backgroundTask, launch) else { continue }
                times.add(event.at - begun, isCut: true)
            default: break
            }
        }
    }

    private func addPast(_ event: WatchdogEvent, _ launch: RecordedLaunch, _ times: inout TakenTimes) {
        for past in launch.incidents where past.event == event { times.add(past.at - launch.start, isCut: true) }
    }

    private func hasKill(_ event: WatchdogEvent, _ launch: RecordedLaunch) -> Bool {
        launch.incidents.contains { $0.event == event && $0.isKill }
    }
}
