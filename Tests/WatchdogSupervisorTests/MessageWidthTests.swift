// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogLaunch

@Suite("Messages on a terminal")
struct MessageWidthTests {
    private let lines = [
        "web[7] killed: did not answer within 1.00 s (0x8badf00d)",
        "  Main thread waits for an answer from 127.0.0.1:8080 in load() (Feed.swift:41)",
        "  /var/log/watchdogd/reports/a-name-that-is-longer-than-the-terminal-is-wide.ips",
    ]

    @Test("Lines are wrapped at spaces, the first one after the prefix, and a path is never split")
    func narrow() {
        let text = StandardError.fit(lines, behind: 11, columns: 50)
        #expect(
            text == """
                web[7] killed: did not answer within
                  1.00 s (0x8badf00d)
                  Main thread waits for an answer from
                    127.0.0.1:8080 in load() (Feed.swift:41)
                  /var/log/watchdogd/reports/a-name-that-is-longer-than-the-terminal-is-wide.ips
                """)
    }

    @Test("Lines stay unchanged without a terminal, or on a wide one", arguments: [nil, 200] as [Int?])
    func wide(columns: Int?) {
        #expect(StandardError.fit(lines, behind: 11, columns: columns) == lines.joined(separator: "\n"))
    }
}
