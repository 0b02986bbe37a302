// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension Timeline {
    /// An app that participates in the lifecycle, answers pings immediately, and was ready at zero.
    static func participating(_ spec: AppSpec = AppSpec(name: "App")) -> Timeline {
        var life = Timeline(spec)
        life.pongTime = .milliseconds(1)
        life.stateTime = .milliseconds(10)
        life.tell(.lifecycle(.joined), .ready(.channel))
        return life
    }

    /// The same in the background, since zero.
    static func inBackground(_ spec: AppSpec = AppSpec(name: "App"), tasks: Int = 0) -> Timeline {
        var life = participating(spec)
        life.stateTime = .zero
        for id in 1..<(tasks + 1) { life.begin(UInt64(id)) }
        life.ask(.background)
        return life
    }

    mutating func ask(_ request: LifecycleRequest) { tell(.lifecycle(.requested(request))) }

    mutating func ask(_ request: LifecycleRequest, at time: Duration) { at(time, .lifecycle(.requested(request))) }

    mutating func begin(_ id: UInt64) { tell(.lifecycle(.taskBegan(id: id, name: "task \(id)"))) }

    mutating func end(_ id: UInt64) { tell(.lifecycle(.taskEnded(id: id))) }

    var state: LifecycleState { machine.lifecycleState }

    var lifecycleNotices: [LifecycleNotice] {
        notices.compactMap { if case .lifecycle(let notice) = $0 { notice } else { nil } }
    }

    var lifecycleEffects: [LifecycleEffect] {
        effects.compactMap { if case .lifecycle(let effect) = $0 { effect } else { nil } }
    }

    /// The times at which an effect was requested.
    func times(of summary: String) -> [Duration] { log.filter { $0.effect.summary == summary }.map(\.at) }

    /// The codes of the incidents in decision order.
    var codes: [TerminationCode] { incidents.map(\.code) }
}

extension AppSpec {
    /// Stays in the background until a task or a request changes that.
    static let restless = app { $0.lifecycle.idle = nil }
}
