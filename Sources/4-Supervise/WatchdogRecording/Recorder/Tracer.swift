// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogBase
import WatchdogLinux

/// Follows the launched process by ptrace(2), from its execve(2) to the end of its launch.
///
/// Isolation: belongs to one thread, which the kernel knows as the tracer.
final class Tracer {
    /// A change of the process.
    enum Change {
        case none
        case executed
        /// Debug registers were hit: the indices of the addresses.
        case reached([Int])
        /// A change that the tracer has handled itself.
        case handled
        case ended(wd_record_event_of_process)
    }

    private let process: Int32
    private(set) var isTracing = false

    init(_ process: Int32) { self.process = process }

    /// Starts to trace the held child.
    func seize() throws(LinuxError) {
        guard wd_record_seize(process) == 0 else {
            throw LinuxError("trace process \(process)", Errno(rawValue: errno))
        }
        isTracing = true
    }

    /// The next change; the process stays stopped after ``Change/executed`` and ``Change/reached(_:)``.
    ///
    /// - Parameter mayReap: whether to reap the process if it has ended, which discards the kernel's accounts of it.
    func next(mayReap: Bool) -> Change {
        var event = wd_record_event_of_process()
        guard wd_record_wait(process, mayReap, &event) == 0 else { return .none }
        switch event.change {
        case WD_RECORD_EXITED, WD_RECORD_KILLED:
            isTracing = false
            return .ended(event)
        case WD_RECORD_EXECUTED: return .executed
        case WD_RECORD_SIGNALED:
            if event.number == SIGTRAP {
                let hits = wd_record_breakpoint_hit(process)
                if hits != 0 { return .reached((0..<4).filter { hits & 1 << $0 != 0 }) }
            }
            wd_record_continue(process, event.number)
        case WD_RECORD_SUSPENDED: wd_record_stay_suspended(process)
        case WD_RECORD_INTERRUPTED: wd_record_continue(process, 0)
        default: return .none
        }
        return .handled
    }

    /// Lets the stopped process continue.
    func resume() { wd_record_continue(process, 0) }

    /// Sets the debug registers of the stopped process; none clears them.
    func setBreakpoints(_ addresses: [UInt64]) -> Bool {
        wd_record_set_breakpoints(process, addresses, Int32(addresses.count)) == 0
    }

    /// Detaches from the stopped process.
    func release() {
        wd_record_release(process, 0)
        isTracing = false
    }

    /// Notes that the kernel has detached the tracer.
    func forget() { isTracing = false }

    /// Stops the process and detaches from it, within a second; returns its end if it ended instead.
    func releaseRunning() -> wd_record_event_of_process? {
        guard isTracing else { return nil }
        wd_record_interrupt(process)
        let deadline = Instant.now() + .seconds(1)
        while Instant.now() < deadline {
            var event = wd_record_event_of_process()
            guard wd_record_wait(process, true, &event) == 0 else { break }
            switch event.change {
            case WD_RECORD_UNCHANGED: poll(nil, 0, 1)
            case WD_RECORD_EXITED, WD_RECORD_KILLED:
                isTracing = false
                return event
            default:
                let isSignal = event.change == WD_RECORD_SIGNALED
                let isOwn = isSignal && event.number == SIGTRAP && wd_record_breakpoint_hit(process) != 0
                if !setBreakpoints([]) { /* They were never set. */  }
                wd_record_release(process, isSignal && !isOwn ? Int32(event.number) : 0)
                isTracing = false
                return nil
            }
        }
        return nil
    }
}
