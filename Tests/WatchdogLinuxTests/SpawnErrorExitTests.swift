// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Failed spawns, in a separate process")
struct SpawnErrorExitTests {
    @Test("leave no zombie")
    func noZombie() async {
        // In a separate process, because other tests have children that have just exited.
        await #expect(processExitsWith: .success) {
            for _ in 0..<20 {
                #expect(throws: SpawnError.self) {
                    _ = try spawn(SpawnRequest(executable: "/nowhere", arguments: ["x"]))
                }
            }
            // Each is reaped on its own thread as soon as it has exited.
            let hasNone = eventually {
                !Procfs.children(of: getpid()).compactMap { ProcessStat.read($0) }.contains { $0.state == .zombie }
            }
            #expect(hasNone)
        }
    }
}
