// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogBase
public import WatchdogLinux

/// Keeps the kernel's perf events enabled.
///
/// The first event of a process on a machine without any waits for an RCU grace period, 8 to 20 ms; later ones take 0.1
/// ms. A dummy event of an exited thread avoids that delay in launches.
///
/// Isolation: may be used from any thread.
public final class PerfEvents: Sendable {
    private enum State {
        /// Closing this descriptor hangs up the other end, ``decided``.
        case opening(OwnedDescriptor)
        case open(OwnedDescriptor)
        case refused(LinuxError)
    }

    private let state: Locked<State>
    private let decided: OwnedDescriptor

    /// Starts to enable them on another thread.
    public init() throws(LinuxError) {
        let pipe = try OwnedDescriptor.pipe()
        decided = pipe.read
        state = Locked(.opening(pipe.write))
        let thread = try? WorkerThread.start { [self] in
            let result = Self.open()
            state.withLock { $0 = result }
        }
        thread?.detach()
        guard thread == nil else { return }
        let error = LinuxError("start a thread for perf events", Errno(rawValue: errno))
        state.withLock { $0 = .refused(error) }
    }

    private static func open() -> State {
        let event = wd_record_event(
            kind: WD_RECORD_NOTHING, value: 0, excludes_kernel: true, inherits: false, is_enabled: false)
        do throws(LinuxError) {
            return .open(OwnedDescriptor(taking: try event.open(0).number))
        } catch {
            return .refused(error)
        }
    }

    /// Waits until the kernel has permitted or refused events, or until the limit.
    public func wait(limit: Duration) {
        var entry = pollfd(fd: decided.number, events: 0, revents: 0)
        poll(&entry, 1, Int32(limit / .milliseconds(1)))
    }

    /// The reason why events cannot be opened; nil if they can.
    public var refusal: String? {
        switch state.withLock({ $0 }) {
        case .opening: "the kernel has not switched on perf events yet"
        case .open: nil
        case .refused(let error): PerfRefusal(error, isWide: false).reason
        }
    }
}
