// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Phases of a launch")
struct LaunchPhaseNameTests {
    @Test("Each keeps its place and its name, which stores and reports contain")
    func places() {
        #expect(
            LaunchPhaseName.allCases.map(\.rawValue) == [
                "exec", "mapping", "relocation", "library-constructors", "own-constructors", "hello", "first-frame",
                "ready",
            ])
    }
}
