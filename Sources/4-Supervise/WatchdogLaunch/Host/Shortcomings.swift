// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// What this machine or container withholds, and what reports lack because of it; without `/proc`, watchdogd does not start.
package struct Shortcomings: Hashable, Sendable {
    /// Yama's `ptrace_scope`; 0 without Yama.
    var ptraceScope = 0
    /// Whether this process has CAP_SYS_PTRACE.
    var mayTraceAnything = true

    /// What `run`, `serve` and `observe` say at their start about tracing, in one line; nil if nothing is missing.
    package var words: String? {
        // ptrace(2): 2 is for CAP_SYS_PTRACE only, and 3 for nobody.
        guard ptraceScope >= 3 || ptraceScope == 2 && !mayTraceAnything else { return nil }
        return
            "Yama's ptrace_scope is \(ptraceScope), which permits watchdogd no tracing: it still kills what hangs, but its "
            + "reports have no stacks"
    }

    /// What `run` and `serve` say at their start where nothing is in a cgroup, in one line; docs/faq.md says what helps.
    ///
    /// - Parameter refusal: why there is no cgroup.
    package static func withoutCgroups(because refusal: String) -> String {
        "no cgroup: \(refusal); a process that detaches and clears its environment may escape a kill"
    }

    /// What this process finds.
    package static var here: Shortcomings {
        func read(_ path: String) -> String? { Procfs.read(path).map { String(decoding: $0, as: UTF8.self) } }
        let field = (read("/proc/self/status") ?? "").split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        let capabilities = field.flatMap { UInt64($0.dropFirst("CapEff:".count).drop { $0 == "\t" }, radix: 16) } ?? 0
        let scope = read("/proc/sys/kernel/yama/ptrace_scope")?.first?.wholeNumberValue
        // CAP_SYS_PTRACE is 19: capability.h.
        return Shortcomings(ptraceScope: scope ?? 0, mayTraceAnything: capabilities & 1 << 19 != 0)
    }
}
