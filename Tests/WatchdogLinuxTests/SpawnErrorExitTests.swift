// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Spawning fails, in a process of its own")
struct SpawnErrorExitTests {
    @Test("without leaving a zombie")
    func noZombie() async {
        // In a process of its own: other tests have children that have just ended.
        await #expect(processExitsWith: .success) {
            for _ in 0..<20 {
                #expect(throws: SpawnError.self) {
                    _ = try spawn(SpawnRequest(executable: "/nowhere", arguments: ["x"]))
                }
            }
            // Each is reaped on a thread of its own, as soon as it has exited.
            let hasNone = eventually {
                !Procfs.children(of: getpid()).compactMap { ProcessStat.read($0) }.contains { $0.state == .zombie }
            }
            #expect(hasNone)
        }
    }
}
