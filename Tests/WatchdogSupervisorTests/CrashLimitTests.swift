// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogSupervisor

@Suite("The limit of crash reports")
struct CrashLimitTests {
    @Test("five reports within an hour are the limit of an app, four are not, nor is one that is too old")
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
