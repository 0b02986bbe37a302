// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogSupervisor

@Suite("What a machine withholds")
struct ShortcomingsTests {
    @Test("is said in one line if reports have no stacks because of it, and only then")
    func words() {
        #expect(Shortcomings().words == nil)
        for (scope, mayTrace, isNamed) in [
            (0, false, false), (1, false, false), (1, true, false), (2, true, false), (2, false, true), (3, true, true),
            (3, false, true),
        ] {
            let words = Shortcomings(ptraceScope: scope, mayTraceAnything: mayTrace).words
            #expect((words != nil) == isNamed, "\(scope)")
            #expect(words?.contains("\n") != true)
            #expect(words?.hasPrefix("Yama's ptrace_scope is \(scope)") != false)
        }
        #expect(Shortcomings(hasProcfs: false).words?.hasPrefix("/proc is not mounted") == true)
    }

    @Test("is nothing where these tests run: they need /proc themselves")
    func here() {
        #expect(Shortcomings.here.hasProcfs)
    }
}
