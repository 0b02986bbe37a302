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

    /// The file to write, which takes minutes: `Benchmarks/answers` measures queries in it.
    private static let path = getenv("WATCHDOGD_MILLION").map { String(cString: $0) }

    @Test(
        "A million launches of 20 apps in a year take at most 200 MB, and every query counts each launch once",
        .enabled(if: Self.path != nil, "run by Benchmarks/answers"))
    func million() throws {
        let path = try #require(Self.path)
        let store = try HistoryStore(path: path)
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
        try Connection(path, flags: 2, patience: .zero).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_size <= 200_000_000)
        print("\(status.st_size) bytes, written in \(written)")
        let reader = try HistoryReader(path: path)
        let last = KeptLaunch.epoch + 999_999 * 31_000_000
        let week = WallTime(microseconds: last - 7 * WallTime.dayLength - 1)
        // One launch in 31 s.
        let inWeek = 7 * 86_400 / 31 + 1
        for key in LaunchGroup.Key.allCases {
            #expect(try reader.launches(of: nil, by: key).total?.count == 1_000_000)
            #expect(try reader.launches(of: "app-1", by: key).total?.count == 50_000)
            #expect(try reader.launches(of: nil, since: week, by: key).total?.count == inWeek)
        }
    }
}
