// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One event on its way through the machine: the time, the app's state, and the effects so far.
struct Turn {
    let now: Instant
    let shared: Shared<AppSpec>
    var life: Life
    /// How the launch went so far.
    var launch: LaunchWatch
    var visibility: Visibility
    /// Whether the supervisor has frozen the app, or is about to.
    var isSuspended: Bool
    var numbers: Numbers
    var effects: [ProcessEffect] = []
    /// An event answers at most one ping or probe.
    var measurement: Measurement?

    init(at now: Instant, _ shared: Shared<AppSpec>, _ life: Life, _ launch: LaunchWatch, _ numbers: Numbers) {
        self.now = now
        self.shared = shared
        self.life = life
        self.numbers = numbers
        self.launch = launch
        visibility = .foreground
        isSuspended = false
    }

    var spec: AppSpec { shared.wrappedValue }

    mutating func perform(_ effect: ProcessEffect) { effects.append(effect) }
    mutating func perform(_ effect: LifecycleEffect) { effects.append(.lifecycle(effect)) }
    mutating func announce(_ notice: Notice) { effects.append(.announce(notice)) }
    mutating func announce(lifecycle notice: LifecycleNotice) { effects.append(.announce(.lifecycle(notice))) }
    mutating func announce(probe notice: ProbeNotice) { effects.append(.announce(.probe(notice))) }
}

/// The stage of a process's life, disregarding a capture in progress.
///
/// During a capture that kills, only death counts. During one that only reports, life continues: signs of life count
/// when they arrive.
enum Life: Hashable, Sendable, Codable {
    case idle
    case launching
    case running
    case terminating(isRequested: Bool)
    case dying
    indirect case ended(Outcome)

    private enum CodingKeys: String, CodingKey { case idle, launching, running, terminating, dying, ended }
    private enum TerminatingCodingKeys: String, CodingKey { case isRequested }

    /// Whether there is a process that is not condemned.
    var isLive: Bool {
        switch self {
        case .launching, .running, .terminating: true
        case .idle, .dying, .ended: false
        }
    }
}

/// What a machine has measured of an app's answer.
public enum Measurement: Hashable, Sendable {
    /// The main loop answered a ping in this time.
    case ping(Duration)
    /// A liveness probe succeeded in this time.
    case probe(Duration)
    /// A liveness probe of an app that was ready failed, whatever follows from that.
    case failedProbe
}
