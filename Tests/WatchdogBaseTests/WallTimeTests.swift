// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Wall time")
struct WallTimeTests {
    @Test(
        "A time is printed in the local time of its offset",
        arguments: [
            (WallTime(seconds: 0), "1970-01-01 00:00:00.00 +0000"),
            (WallTime(seconds: -1, nanoseconds: 999_999_999), "1969-12-31 23:59:59.99 +0000"),
            (
                WallTime(seconds: 1_663_482_517, nanoseconds: 345_100_000, utcOffset: 32_400),
                "2022-09-18 15:28:37.34 +0900"
            ),
            (WallTime(seconds: 1_709_164_800), "2024-02-29 00:00:00.00 +0000"),
            (WallTime(seconds: 4_107_542_399), "2100-02-28 23:59:59.00 +0000"),
            (WallTime(seconds: 4_107_542_400), "2100-03-01 00:00:00.00 +0000"),
            (WallTime(seconds: 1_795_220_422, utcOffset: -12_600), "2026-11-20 20:50:22.00 -0330"),
            (WallTime(seconds: .min), "0001-01-01 00:00:00.00 +0000"),
            (WallTime(seconds: .max), "9999-12-31 23:59:59.00 +0000"),
        ]
    )
    func aTimeIsWritten(time: WallTime, text: String) {
        #expect(time.text(fractionDigits: 2) == text)
    }

    @Test("The fraction is truncated, so that no digit carries into the second", arguments: [0, 2, 4, 9])
    func theFractionIsCut(digits: Int) {
        let text = WallTime(seconds: 59, nanoseconds: 999_999_999).text(fractionDigits: digits)
        #expect(text == "1970-01-01 00:00:59\(digits == 0 ? "" : ".")\(String(repeating: "9", count: digits)) +0000")
    }

    @Test("A printed time is parsed back, day by day over four centuries")
    func everyDayCanBeReadBack() throws {
        for day in stride(from: Int64(-80_000), to: 80_000, by: 17) {
            let time = WallTime(seconds: day * 86_400 + 3_661, nanoseconds: 120_000_000, utcOffset: 5_400)
            #expect(WallTime(time.text(fractionDigits: 4)) == time)
        }
    }

    @Test(
        "An invalid time is rejected",
        arguments: [
            "", "2026-11-21", "2026-11-21 00:20:22", "2026-11-21T00:20:22Z", "2026-13-01 00:00:00 +0000",
            "2026-11-21 24:00:00 +0000", "2026-11-21 00:20:22. +0000", "2026-11-21 00:20:22.x +0000",
            "2026-11-21 00:20:22 +00:00", "2026-11-21 00:20:22 0000", "2026-11-21 00:20:22 +0099",
            "+2026-11-21 00:20:22 +0000", "２０２６-11-21 00:20:22 +0000", "99999-01-01 00:00:00 +0000",
        ]
    )
    func whatIsNoTimeIsRefused(text: String) {
        #expect(WallTime(text) == nil)
    }

    @Test("A file's name has the local time without spaces and colons")
    func fileStamps() {
        #expect(WallTime(seconds: 1_795_220_422, nanoseconds: 123_456_789).fileStamp == "2026-11-21-002022")
    }
}
