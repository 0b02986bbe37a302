// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch

/// One app with a random fault, and its expected fate.
private struct Life {
    enum Fate: Equatable {
        case lives
        case dies(WatchdogEvent)
        case exits(Int32)
    }

    let launch: Duration
    let latency: Duration
    let hangsAt: Duration?
    let exitsAt: Duration?

    init(using generator: inout SeededGenerator) {
        launch = .milliseconds(Int64.random(in: 1...30_000, using: &generator))
        latency = .milliseconds(Int64.random(in: 0...9_999, using: &generator))
        hangsAt = Bool.random(using: &generator) ? .milliseconds(Int64.random(in: 0...100_000, using: &generator)) : nil
        exitsAt =
            Int.random(in: 0..<4, using: &generator) == 0
            ? .milliseconds(Int64.random(in: 0...9_999, using: &generator)) : nil
    }

    var fate: Fate {
        // No allowance can run out within the first ten seconds.
        if exitsAt != nil { return .exits(7) }
        if launch > .seconds(20) || (hangsAt.map { $0 <= launch } ?? false) { return .dies(.sceneCreate) }
        return hangsAt == nil ? .lives : .dies(.sceneUpdate)
    }

    func play(on kernel: ScriptedEffects) {
        kernel.say("HELLO=1\n")
        let isHung = { [hangsAt] in hangsAt.map { kernel.elapsed >= $0 } ?? false }
        kernel.after(launch) { if !isHung() { kernel.say("READY=1\n") } }
        kernel.onSend = { [latency] text in
            guard text.hasPrefix("PING=") else { return }
            let nonce = text.dropFirst(5).prefix { $0.isNumber }
            kernel.after(latency) { if !isHung() { kernel.say("PONG=\(nonce)\n") } }
        }
        if let exitsAt { kernel.after(exitsAt) { kernel.supervisor?.handle(.exited(.exited(code: 7))) } }
    }
}

@Suite("Random lives on virtual time")
struct RandomLivesTests {
    private static let livesPerShard = StormScale.part(of: 150)

    @Test("each ends as its fault requires, and never otherwise", arguments: 0..<8)
    func fates(shard: Int) {
        for index in 0..<Self.livesPerShard {
            let seed = UInt64(shard * 1_000 + index)
            var generator = SeededGenerator(seed: seed)
            let life = Life(using: &generator)
            let kernel = ScriptedEffects()
            let supervisor = kernel.supervise(AppSpec(name: "App"), nonceSeed: seed)
            supervisor.launch()
            life.play(on: kernel)
            kernel.run(for: .seconds(300))
            let captured = kernel.calls.compactMap { call -> WatchdogEvent? in
                if case .capture(let event, _) = call { event } else { nil }
            }
            let reports = kernel.calls.filter { if case .report = $0 { true } else { false } }
            #expect(captured.count == reports.count, "seed \(seed)")
            switch life.fate {
            case .lives:
                #expect(kernel.outcome == nil && captured.isEmpty, "seed \(seed)")
            case .dies(let event):
                #expect(captured == [event] && kernel.outcome?.isDeathVerified == true, "seed \(seed)")
            case .exits(let code):
                #expect(kernel.outcome?.status == .exited(code: code) && captured.isEmpty, "seed \(seed)")
            }
        }
    }
}
