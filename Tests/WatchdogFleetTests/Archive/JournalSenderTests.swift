// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogFleet

@Suite("The sender of an entry")
struct JournalSenderTests {
    private func standing(
        _ user: UInt32?, _ executable: String?, _ name: String?, machine: String? = "here"
    ) -> JournalSender.Standing {
        JournalSender(user: user, executable: executable, name: name, machine: machine)
            .standing(for: 1_000, on: "here")
    }

    @Test("is trusted if it is root's watchdogd on any machine, or the user's own on this one")
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

    @Test("is judged only by its user if it exited before journald looked it up")
    func ended() {
        #expect(standing(0, nil, "watchdogd") == .trusted)
        #expect(standing(0, nil, nil) == .trusted)
        #expect(standing(1_001, nil, nil) == .otherUser)
    }

    @Test(
        "is a forger if it is another program, whatever its name",
        arguments: [
            (0, "/usr/bin/python3", "watchdogd"), (0, "/usr/bin/watchdogd2", "watchdogd"), (0, "watchdogd", nil),
            (0, nil, "python3"), (0, "", "watchdogd"), (1_000, "/tmp/x", "watchdogd"), (nil, "/usr/bin/watchdogd", nil),
        ] as [(UInt32?, String?, String?)])
    func imitations(user: UInt32?, executable: String?, name: String?) {
        #expect(standing(user, executable, name) == .imitation)
    }
}
