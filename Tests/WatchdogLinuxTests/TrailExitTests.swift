// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The trail of a wait for an ordinary user")
struct TrailExitTests {
    @Test("a process that may not be read is named, and nothing else", .enabled(if: getuid() == 0, "needs root"))
    func refused() async {
        await #expect(processExitsWith: .success) {
            let folder = try makeTemporaryDirectory()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try #require(chmod(folder, 0o777) == 0)
            let holder = try TrailSubject(
                "f = open(sys.argv[1], 'w'); os.chmod(sys.argv[1], 0o666); fcntl.flock(f, fcntl.LOCK_EX); "
                    + "mark(sys.argv[2]); pause()", "\(folder)/file", "\(folder)/held")
            let waiter = try TrailSubject(
                "await_(sys.argv[2]); fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)", "\(folder)/file",
                "\(folder)/held", user: 65_534)
            // The real user stays, so that root can kill them.
            try #require(setegid(65_534) == 0 && seteuid(65_534) == 0)
            let trail = waiter.trail { !$0.hops.isEmpty }
            try #require(seteuid(0) == 0)
            #expect(trail.hops.map(\.process) == [holder.pid] && trail.hops.map(\.sight) == [.refused])
            #expect(trail.hops.first?.wait == nil)
        }
    }
}
