// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Restrictions of a machine")
struct ShortcomingsTests {
    @Test("are reported in one line if they prevent stacks in reports, and only then")
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

    @Test("are reported in one line, with reason and consequence, if there are no cgroups")
    func cgroups() {
        let words = Shortcomings.withoutCgroups(because: "no cgroup2 file system is mounted")
        #expect(words.hasPrefix("no cgroup: no cgroup2 file system is mounted; "))
        #expect(words.hasSuffix("may escape a kill") && !words.contains("\n"))
    }

    @Test("match this machine's files")
    func here() {
        func text(_ path: String) -> String {
            Procfs.read(path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        // The file does not exist without Yama.
        let scope = Int(text("/proc/sys/kernel/yama/ptrace_scope").filter(\.isNumber)) ?? 0
        #expect(Shortcomings.here.ptraceScope == scope)
        // Capability 19, as capsh(1) shows it.
        let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("CapEff:") }?.split(
            separator: "\t"
        ).last
        #expect(UInt64(line ?? "", radix: 16).map { $0 >> 19 & 1 == 1 } == Shortcomings.here.mayTraceAnything)
    }
}
