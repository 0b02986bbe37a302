// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogVerdict

/// Repeated checks of a process that do not disturb it: whether it listens, whether its main thread waits for events,
/// and in which calls its threads are blocked.
struct LaunchLook {
    /// Calls in which a main thread waits for events.
    private static let waits: Set<String> = [
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6", "accept", "accept4",
        "io_uring_enter", "io_getevents", "rt_sigtimedwait", "rt_sigsuspend", "pause", "futex",
    ]
    private static let descriptorLimit = 1024
    private static let threadLimit = 32
    private static let lookLimit = 1 << 17

    private let process: Pidfd
    private var waiting: (call: String, slices: UInt64, since: Instant, resources: LaunchResources)?
    /// The main thread's current call, as in its `syscall` file, and whether its wait was examined.
    private var block: (syscall: String, slices: UInt64, isExamined: Bool)?
    private var isListening = false
    private(set) var looks: [LaunchLog.Look] = []

    init(_ process: Pidfd) { self.process = process }

    /// The program's usage at the start of its main thread's current wait; nil if that does not wait.
    var resourcesBeforeWait: LaunchResources? { waiting?.resources }

    /// Checks once.
    ///
    /// - Parameter names: whether to record the calls of blocked threads.
    mutating func look(at now: Instant, names: Bool, checksListening: Bool) -> [LaunchEndJudge.Event] {
        var events: [LaunchEndJudge.Event] = []
        if checksListening, !isListening, findListener() {
            isListening = true
            events.append(.listening)
        }
        if let since = idle(at: now), now - since >= LaunchEndJudge.idleLimit { events.append(.idle(since: since)) }
        if names { lookAtThreads(now) }
        examine(now)
        return events
    }

    /// The start of the main thread's current wait for events; nil if it does not wait.
    private mutating func idle(at now: Instant) -> Instant? {
        guard let call = ProcessFiles.position(process.pid), let name = call.name, isWait(call, name),
            let schedule = ThreadSchedule.read(process.pid, thread: process.pid)
        else {
            waiting = nil
            return nil
        }
        if let waiting, waiting.call == name, waiting.slices == schedule.timeslices { return waiting.since }
        waiting = (name, schedule.timeslices, now, ProcessFiles.resources(of: process.pid))
        return nil
    }

    /// Whether a call is a wait for events; so is a read of standard input, on which shells and filters wait.
    private func isWait(_ call: SystemCall, _ name: String) -> Bool {
        Self.waits.contains(name) || (name == "read" && call.descriptor == 0)
    }

    /// Examines what the main thread waits for, once for each block that is longer than the time between two looks.
    private mutating func examine(_ now: Instant) {
        let pid = process.pid
        guard let text = Procfs.line("/proc/\(pid)/syscall", limit: 512),
            case .inside(let call)? = SystemCall.position(in: text), let name = call.name,
            let schedule = ThreadSchedule.read(pid, thread: pid)
        else {
            block = nil
            return
        }
        guard let known = block, known.syscall == text, known.slices == schedule.timeslices else {
            block = (text, schedule.timeslices, false)
            return
        }
        guard !known.isExamined, looks.count < Self.lookLimit else { return }
        block?.isExamined = true
        let look = WaitLook { ProcessFiles.tree(of: pid) }
        let waits = look.chain(process: pid, thread: pid, syscall: text)?.waits ?? []
        guard let words = WaitText(waits.map(\.details)).whole?.singleLine(limit: 256) else { return }
        looks.append(LaunchLog.Look(thread: pid, time: now, call: name, subject: words))
    }

    private mutating func findListener() -> Bool {
        for number in Procfs.numbers(in: "/proc/\(process.pid)/fd").prefix(Self.descriptorLimit) where number > 2 {
            guard SymbolicLink.target("/proc/\(process.pid)/fd/\(number)")?.hasPrefix("socket:") == true else {
                continue
            }
            if wd_record_is_listening(process.descriptor.number, number) == 1 { return true }
        }
        return false
    }

    private mutating func lookAtThreads(_ now: Instant) {
        guard looks.count < Self.lookLimit else { return }
        for thread in Procfs.threads(of: process.pid).prefix(Self.threadLimit) {
            guard let call = ProcessFiles.call(process.pid, thread) else { continue }
            looks.append(LaunchLog.Look(thread: thread, time: now, call: call))
        }
    }
}
