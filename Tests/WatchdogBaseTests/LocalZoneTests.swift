// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Local zones")
struct LocalZoneTests {
    @Test(
        "A zone is named by its letters, or else by its offset from UTC",
        arguments: [
            (0, nil, "UTC"), (0, "GMT", "UTC"), (0, "Asia", "UTC"), (3_600, "CET", "CET"), (32_400, "JST", "JST"),
            (20_700, "+0545", "+0545"), (20_700, nil, "+0545"), (-12_600, nil, "-0330"), (-10_800, "-03", "-0300"),
            (3_600, "", "+0100"), (3_600, "A\u{1b}[2J", "+0100"), (3_600, "ABCDEF", "+0100"), (3_600, "ABCDE", "ABCDE"),
        ] as [(Int32, String?, String)])
    func names(offset: Int32, abbreviation: String?, name: String) {
        #expect(LocalZone(utcOffset: offset, abbreviation: abbreviation).name == name)
    }

    @Test("A time is local time, wherever it was written")
    func dates() throws {
        let time = try #require(WallTime("2026-11-21 00:20:22.9 +0900"))
        #expect(LocalZone.utc.date(time) == "2026-11-20 15:20:22")
        #expect(LocalZone(utcOffset: -12_600).date(time) == "2026-11-20 11:50:22")
        #expect(LocalZone.utc.text(time) == "2026-11-20 15:20:22 UTC")
        #expect(LocalZone(utcOffset: 3_600, abbreviation: "CET").text(time) == "2026-11-20 16:20:22 CET")
        #expect(LocalZone(utcOffset: -12_600).text(time) == "2026-11-20 11:50:22 -0330")
        #expect(LocalZone(utcOffset: .max).date(WallTime(seconds: .max)) == "9999-12-31 23:59:59")
    }
}
