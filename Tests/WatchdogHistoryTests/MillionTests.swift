// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogHistory

@Suite("A large store")
struct MillionTests {
    /// Every phase that can be recorded.
    private func phases(_ ready: Double, _ random: inout SeededGenerator) -> [LaunchPhaseName: Duration] {
        let shares = [0.01, 0.04, 0.02, 0.01, 0.02, 0.1, 0.3, 0.5]
        return Dictionary(
            uniqueKeysWithValues: zip(LaunchPhaseName.allCases, shares).map { phase, share in
                (phase, .microseconds(Int64(ready * share * exp(random.normal() / 3))))
            })
    }

    /// Takes minutes: `WATCHDOGD_BENCHMARKS=1 swift test --filter MillionTests`.
    @Test(
        "A million launches of 20 apps in a year take at most 200 MB, and a query at most 100 ms",
        .enabled(if: getenv("WATCHDOGD_BENCHMARKS") != nil))
    func million() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        var random = SeededGenerator(seed: 10)
        let begin = Instant.now()
        for batch in 0..<1_000 {
            try store.add(
                (0..<1_000).map { index in
                    let number = batch * 1_000 + index
                    let ready = 200_000 * exp(random.normal() / 2)
                    return .launch(
                        .sample(
                            "app-\(number % 20)", at: .seconds(number * 31), ready: .microseconds(Int64(ready)),
                            build: "\(number / 20_000)", cpu: .microseconds(Int64(ready / 3)),
                            cause: number % 40 == 0 ? "crash" : "start",
                            temperature: number % 30 == 0 ? .cold : .warm, host: "machine-\(number % 3)",
                            phases: phases(ready, &random)))
                })
        }
        let written = Instant.now() - begin
        try Connection(scratch.file, flags: 2, patience: .zero).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        var status = stat()
        #expect(stat(scratch.file, &status) == 0)
        #expect(status.st_size <= 200_000_000)
        var slowest = Duration.zero
        let reader = try HistoryReader(path: scratch.file)
        let week = WallTime(microseconds: KeptLaunch.epoch + 1_000_000 * 31_000_000 - 7 * WallTime.dayLength - 1)
        for (app, since, key) in [
            ("app-1", nil, LaunchGroup.Key.version), ("app-1", week, .version), ("app-1", nil, .host), (nil, nil, .app),
            (nil, week, .app), ("app-1", nil, .kind),
        ] {
            let begin = Instant.now()
            let total = try reader.launches(of: app, since: since, by: key).total
            let time = Instant.now() - begin
            let start = since.map(LocalZone.utc.date) ?? "ever"
            print("\(app ?? "all") since \(start) by \(key): \(total?.count ?? 0) in \(time)")
            // A table of all apps without a start is requested less often, and may take longer.
            if app != nil || since != nil { slowest = max(slowest, time) }
        }
        let look = Instant.now()
        _ = try store.regression(of: "app-1", on: "machine-1")
        print("\(status.st_size) bytes, written in \(written), regression in \(Instant.now() - look)")
        #expect(slowest <= .milliseconds(100))
    }
}
