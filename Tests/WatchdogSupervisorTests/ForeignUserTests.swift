// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogLinux

@testable import WatchdogLaunch

@Suite("Users other than watchdogd's own")
struct ForeignUserTests {
    private static func refusal(
        _ change: (inout ProgramSettings) -> Void, user: UInt32 = 1_000, group: UInt32 = 1_000,
        by own: UInt32 = 1_000
    ) -> String? {
        var program = ProgramSettings(command: Command(program: "/bin/true", arguments: []))
        change(&program)
        return LaunchConfiguration.refusal(of: Credentials(user: user, group: group), program, for: own, 1_000)?
            .description
    }

    @Test("root launches as any user; others launch only as themselves, with a group that they have")
    func users() {
        #expect(Self.refusal({ $0.user = "other" }, user: 5, group: 6, by: 0) == nil)
        #expect(Self.refusal({ $0.user = "own" }) == nil)
        // The account's own group, which nobody requested.
        #expect(Self.refusal({ $0.user = "own" }, group: 100) == nil)
        let told =
            "User= and Group= are 5:1000, and watchdogd runs as 1000:1000: only root's can launch as another user"
        #expect(Self.refusal({ $0.user = "other" }, user: 5) == told)
        #expect(Self.refusal({ $0.group = "other" }, group: 100)?.contains("1000:100,") == true)
        #expect(Self.refusal({ $0.supplementaryGroups = ["audio"] })?.contains("SupplementaryGroups=") == true)
    }
}
