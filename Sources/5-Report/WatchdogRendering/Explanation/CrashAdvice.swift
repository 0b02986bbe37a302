// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// Advice for app authors about a crash.
enum CrashAdvice {
    /// The advice as one paragraph.
    static func paragraph(for crash: CrashDetails, _ kind: Verdict.Kind, isStackOverflow: Bool) -> String {
        // Only if the setting would have helped.
        let stacks =
            crash.stackSource == .none && crash.stacks.contains("CrashStacks=")
            ? "The next report has stacks with CrashStacks=yes (run: --crash-stacks)." : nil
        return [isStackOverflow ? overflow : cause(crash, kind), stacks].compactMap(\.self).joined(separator: " ")
    }

    private static let overflow =
        "The thread's stack was used up. Bound the recursion, or make it a loop, and keep large arrays off the stack. A larger "
        + "stack (ulimit -s, LimitSTACK=, pthread_attr_setstacksize) only puts off the end of an endless recursion."

    private static func cause(_ crash: CrashDetails, _ kind: Verdict.Kind) -> String {
        if kind == .failed {
            return
                "The program says why in its own output: see the last lines under Filtered syslog. A program that did "
                + "not fail should exit with 0; CrashReports=signals leaves its exit codes without reports."
        }
        if kind == .killed {
            if crash.isMemoryKill == true {
                return
                    "Look at the memory limit of the cgroup (memory.max; MemoryMax=) and at what used it up: a leak, a cache "
                    + "without a bound, or a limit that is too low for the work."
            }
            return
                "Find who sent the signal: a person, a script, another supervisor, or the kernel where memory was short "
                + "(journalctl -k, dmesg). The app itself may have done nothing wrong."
        }
        switch crash.signal {
        case SignalText.abort:
            return
                "The program ended itself on purpose: a failed assertion, an exception that nobody caught, a heap that "
                + "libc found damaged. The frames above abort() and its last lines of output say which."
        case SignalText.segmentation, SignalText.bus:
            if let address = crash.address, address < 0x1_0000, crash.code ?? 0 > 0 {
                return
                    "It followed a null pointer: the address is the offset of the field that it wanted. Look in "
                    + "the app's innermost frame for what can be null there."
            }
            return
                "It used memory that was freed, was never allocated, or is not its own. Run it with AddressSanitizer "
                + "(-fsanitize=address), which names who freed it."
        case SignalText.illegal, SignalText.trap:
            return
                "In Swift and in code built with traps this is a check that failed: an index out of range, a nil that was "
                + "unwrapped, an overflow, a precondition. The app's innermost frame is the place, its last line of output "
                + "the reason."
        case SignalText.arithmetic:
            return "It divided by zero, or the smallest integer by -1: check the divisor in the app's innermost frame."
        case SignalText.systemCall:
            return
                "A seccomp filter forbids the system call in the innermost frame. Allow it (SystemCallFilter=), or do without."
        default:
            return
                "The signal's default action is to end the program, and it neither handles nor ignores it. Find who sends "
                + "it: a timer or limit of its own (SIGALRM, SIGXCPU), or another process."
        }
    }
}
