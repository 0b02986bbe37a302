// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogLinux

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
    }

    @Test("is said in one line if nothing is in a cgroup, with the reason and what follows")
    func cgroups() {
        let words = Shortcomings.withoutCgroups(because: "no cgroup2 file system is mounted")
        #expect(words.hasPrefix("no cgroup: no cgroup2 file system is mounted; "))
        #expect(words.hasSuffix("may escape a kill") && !words.contains("\n"))
    }

    @Test("is what this machine's files say")
    func here() {
        func text(_ path: String) -> String {
            Procfs.read(path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        // There is no such file without Yama.
        let scope = Int(text("/proc/sys/kernel/yama/ptrace_scope").filter(\.isNumber)) ?? 0
        #expect(Shortcomings.here.ptraceScope == scope)
        // The right number 19, as capsh(1) shows it.
        let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("CapEff:") }?.split(
            separator: "\t"
        ).last
        #expect(UInt64(line ?? "", radix: 16).map { $0 >> 19 & 1 == 1 } == Shortcomings.here.mayTraceAnything)
    }
}
