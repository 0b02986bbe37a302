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
