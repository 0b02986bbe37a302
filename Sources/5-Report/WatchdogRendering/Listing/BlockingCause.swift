// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// What a thread was blocked in, in the same words whichever of several pieces of evidence there was.
///
/// Under load, `/proc/PID/syscall` may be missing while `wchan` is there, or neither; a stop hides the call behind
/// restart_syscall(2). One cause must not count as two because of that, so this reads, in this order, the system call,
/// the kernel's function that sleeps, and the C library's function on the stack, and calls variants of one call alike.
struct BlockingCause {
    /// `blocked in clock_nanosleep`; the verdict's own words if nothing says more.
    let words: String

    /// - Parameters:
    ///   - brief: the verdict in a few words, as in "D state at folio_wait_bit_common".
    ///   - stack: the stack of the thread.
    init(_ brief: String, _ stack: ReportStack?) {
        for (mark, isCall) in [(" in ", true), (" at ", false)] {
            guard let range = brief.firstRange(of: mark) else { continue }
            let (state, place) = (brief[..<range.lowerBound], String(brief[range.upperBound...]))
            let call = isCall ? Self.call(place) : Self.sleeps[Self.stem(place)]
            words = (call ?? Self.call(on: stack)).map { "\(state) in \($0)" } ?? brief
            return
        }
        // The verdict knows no place.
        let isPlaceless = ["blocked", "D state"].contains(brief)
        words = isPlaceless ? Self.call(on: stack).map { "\(brief) in \($0)" } ?? brief : brief
    }

    /// The cause of a report: what the thread or goroutine does that explains the hang.
    init(of report: Report, brief: String) {
        let stack = report.decidingStack
        if let state = report.decidingGoroutine?.goroutine.state {
            self.init("blocked in \(state)", stack)
        } else {
            self.init(stack?.index == report.body.faultingThread ? brief : "blocked", stack)
        }
    }

    /// The usual name of a system call; nil for one that hides another.
    private static func call(_ name: String) -> String? {
        name == "restart_syscall" ? nil : variants[name] ?? name
    }

    /// What was read of the thread while its stack was captured, and the stack itself.
    private static func call(on stack: ReportStack?) -> String? {
        guard let stack else { return nil }
        if let name = stack.systemCall?.name, let call = call(name) { return call }
        if let channel = stack.details?.waitChannel, let call = sleeps[stem(channel)] { return call }
        for site in stack.calls.prefix(4) where site.trust != .scan && site.origin != .application {
            guard let function = site.function else { continue }
            if let call = functions[stem(function)] { return call }
        }
        return nil
    }

    /// A function's name without what compilers and the C library add: `__GI_…`, `.constprop.0`.
    private static func stem(_ name: String) -> String {
        var stem = name.prefix { $0 != "." && $0 != "@" && $0 != "(" }
        while let prefix = ["_", "GI_", "libc_"].first(where: stem.hasPrefix) { stem = stem.dropFirst(prefix.count) }
        return String(stem)
    }

    /// Calls that differ only in how time or a set is passed.
    private static let variants = [
        "nanosleep": "clock_nanosleep", "epoll_pwait": "epoll_wait", "epoll_pwait2": "epoll_wait", "ppoll": "poll",
        "pselect6": "select", "waitid": "wait4", "accept4": "accept",
    ]

    /// The calls that sleep in a function of the kernel, Linux 5.10 to 6.16.
    private static let sleeps = [
        "hrtimer_nanosleep": "clock_nanosleep", "do_nanosleep": "clock_nanosleep",
        "common_nsleep": "clock_nanosleep", "futex_wait_queue": "futex", "futex_wait_queue_me": "futex",
        "futex_do_wait": "futex", "futex_wait": "futex", "ep_poll": "epoll_wait", "do_epoll_wait": "epoll_wait",
        "do_poll": "poll", "do_sys_poll": "poll", "do_select": "select", "do_wait": "wait4", "do_waitid": "wait4",
        "do_sigtimedwait": "rt_sigtimedwait", "sigsuspend": "rt_sigsuspend", "inet_csk_accept": "accept",
        "pipe_read": "read", "anon_pipe_read": "read",
    ]

    /// The C library's functions that make a call.
    private static let functions = [
        "clock_nanosleep": "clock_nanosleep", "nanosleep": "clock_nanosleep",
        "futex_abstimed_wait_common": "futex", "futex_abstimed_wait_common64": "futex", "lll_lock_wait": "futex",
        "lll_lock_wait_private": "futex", "epoll_wait": "epoll_wait", "epoll_pwait": "epoll_wait", "poll": "poll",
        "ppoll": "poll", "select": "select", "pselect": "select", "wait4": "wait4", "waitpid": "wait4",
        "waitid": "wait4", "sigtimedwait": "rt_sigtimedwait", "sigsuspend": "rt_sigsuspend", "accept": "accept",
        "accept4": "accept", "read": "read", "recv": "recvfrom", "recvfrom": "recvfrom", "recvmsg": "recvmsg",
        "connect": "connect", "flock": "flock", "fsync": "fsync",
    ]
}
