// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@Suite("Events of every kind at every time")
struct StormTests {
    private static let shards = 8
    private static let eventsPerShard = StormScale.part(of: 65_000)

    private static var replayedSeed: UInt64? {
        getenv("WATCHDOG_POLICY_SEED").flatMap { UInt64(String(cString: $0)) }
    }

    private static func trace(of seed: UInt64) -> [String] {
        var storm = Storm(seed: seed)
        _ = storm.play(tracing: true)
        return storm.trace.enumerated().map { "\($0 + 1): \($1.at.nanoseconds) \($1.event) → \($1.effects)" }
    }

    @Test("keep every promise of the machine", arguments: 0..<shards)
    func storms(shard: Int) {
        var count = 0
        var seed = UInt64(shard) << 32
        while count < Self.eventsPerShard {
            var storm = Storm(seed: seed)
            if let complaint = storm.play() {
                let last = Self.trace(of: seed).suffix(25).joined(separator: "\n")
                Issue.record("WATCHDOG_POLICY_SEED=\(seed) replays it: \(complaint)\n\(last)")
                return
            }
            count += storm.count
            seed += 1
        }
    }

    @Test("a failing life can be replayed", .enabled(if: replayedSeed != nil, "WATCHDOG_POLICY_SEED is not set"))
    func replay() {
        guard let seed = Self.replayedSeed else { return }
        print(Self.trace(of: seed).joined(separator: "\n"))
        var storm = Storm(seed: seed)
        #expect(storm.play() == nil)
    }

    @Test("are the same for the same seed")
    func determinism() {
        #expect(Self.trace(of: 7) == Self.trace(of: 7))
    }

    @Test("reach every effect, every notice and every kind of end")
    func reach() {
        var reached: [String: Int] = [:]
        for seed in 0..<1_000 as Range<UInt64> {
            var storm = Storm(seed: seed)
            _ = storm.play(tracing: true)
            for effect in storm.trace.flatMap(\.effects) { reached[effect.summary, default: 0] += 1 }
        }
        let effects = [
            "spawn", "window", "ping", "probe", "ask", "unask", "terminate", "inspect", "capture", "kill", "report",
        ]
        let notices = [
            "launched", "ready channel", "ready notify", "ready probe", "ready exec", "ready assumed", "hung", "credit",
            "overslept", "suspended", "paused", "resumed", "extended", "adopted", "deaf", "noProgress", "capReached",
            "nothingToExtend",
            "ending", "incident", "timeout", "exited", "unkillable", "unanswered", "recovered", "impossible",
            "probe overslept", "probe credit", "probe paused", "probe resumed",
        ]
        let ends = ["spawnFailed", "exited", "terminated", "killedOnRequest", "watchdog"]
        for summary in effects + notices.map({ "(\($0))" }) + ends.map({ "finish-\($0)" }) {
            #expect(reached[summary, default: 0] >= 10, "\(summary)")
        }
    }
}
