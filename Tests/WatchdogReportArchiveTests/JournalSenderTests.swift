// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogReportArchive

@Suite("Who sent an entry")
struct JournalSenderTests {
    private func standing(
        _ user: UInt32?, _ executable: String?, _ name: String?, machine: String? = "here"
    ) -> JournalSender.Standing {
        JournalSender(user: user, executable: executable, name: name, machine: machine)
            .standing(for: 1_000, on: "here")
    }

    @Test("a watchdogd of root is trusted, on whatever machine; of a user only one's own, here")
    func trusted() {
        #expect(standing(0, "/usr/bin/watchdogd", "watchdogd") == .trusted)
        #expect(standing(0, "/opt/bundle/bin/watchdogd", "watchdogd", machine: "there") == .trusted)
        #expect(standing(1_000, "/usr/bin/watchdogd", "watchdogd") == .trusted)
        #expect(standing(1_000, "/usr/bin/watchdogd", "watchdogd", machine: "there") == .otherUser)
        #expect(standing(1_000, "/usr/bin/watchdogd", "watchdogd", machine: nil) == .otherUser)
        #expect(standing(1_001, "/usr/bin/watchdogd", "watchdogd") == .otherUser)
        let unknown = JournalSender(user: 1_000, executable: "/usr/bin/watchdogd", name: nil, machine: nil)
        #expect(unknown.standing(for: 1_000, on: nil) == .otherUser)
    }

    @Test("a process that had ended before journald looked is judged by its user alone")
    func ended() {
        #expect(standing(0, nil, "watchdogd") == .trusted)
        #expect(standing(0, nil, nil) == .trusted)
        #expect(standing(1_001, nil, nil) == .otherUser)
    }

    @Test(
        "other programs imitate, whatever they call themselves",
        arguments: [
            (0, "/usr/bin/python3", "watchdogd"), (0, "/usr/bin/watchdogd2", "watchdogd"), (0, "watchdogd", nil),
            (0, nil, "python3"), (0, "", "watchdogd"), (1_000, "/tmp/x", "watchdogd"), (nil, "/usr/bin/watchdogd", nil),
        ] as [(UInt32?, String?, String?)])
    func imitations(user: UInt32?, executable: String?, name: String?) {
        #expect(standing(user, executable, name) == .imitation)
    }
}
