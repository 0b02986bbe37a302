// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogLaunch

@Suite("The limit on crash reports")
struct CrashLimitTests {
    @Test("an app reaches its limit with five reports within an hour")
    func limit() {
        var limit = CrashLimit()
        let four = limit.isReached(by: "app", at: 10_000, reports: [9_001, 9_002, 9_003, 9_004])
        #expect(!four && !limit.isReached(by: "app", at: 10_000), "the store has to be read again")
        let old = limit.isReached(by: "app", at: 10_000, reports: [6_400, 9_002, 9_003, 9_004, 9_005])
        let five = limit.isReached(by: "app", at: 10_000, reports: [6_401, 9_002, 9_003, 9_004, 9_005])
        #expect(!old && five)
        #expect(!limit.isReached(by: "other", at: 10_000))
    }

    @Test("an app at its limit is remembered until one of its five reports is an hour old")
    func memory() {
        var limit = CrashLimit()
        let isReached = limit.isReached(by: "app", at: 10_000, reports: [9_005, 9_001, 9_002, 9_003, 9_004, 8_000])
        #expect(isReached)
        #expect(limit.isReached(by: "app", at: 12_600))
        #expect(!limit.isReached(by: "app", at: 12_601))
    }
}
