// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import Watchdog

@Suite("The location of saved state")
struct RestorationExitTests {
    @Test("the location follows XDG_STATE_HOME and HOME, and a name is one file name")
    func places() async {
        await #expect(processExitsWith: .success) {
            let scratch = ScratchFolder()
            setenv("HOME", scratch.path, 1)
            unsetenv("XDG_STATE_HOME")
            #expect(RestorationStore(identifier: "Clock")?.save([1]) == true)
            #expect(ScratchFolder.names(in: "\(scratch.path)/.local/state/Clock") == ["state"])
            setenv("XDG_STATE_HOME", "\(scratch.path)/xdg", 1)
            #expect(RestorationStore(identifier: "Clock")?.save([1]) == true)
            #expect(ScratchFolder.names(in: "\(scratch.path)/xdg/Clock") == ["state"])
            setenv("XDG_STATE_HOME", "relative", 1)
            #expect(RestorationStore(identifier: "Other")?.save([1]) == true)
            #expect(ScratchFolder.names(in: "\(scratch.path)/.local/state") == ["Clock", "Other"])
            for name in ["", ".", "..", "a/b", "a\0b"] { #expect(RestorationStore(identifier: name) == nil) }
            setenv("HOME", "", 1)
            #expect(RestorationStore(identifier: "Clock") == nil)
        }
    }
}
