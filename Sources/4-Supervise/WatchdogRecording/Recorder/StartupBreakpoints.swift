// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogBase
import WatchdogLinux

/// Sets breakpoints at the entry and at `main` of a running program.
///
/// Isolation: may be used from any thread. ``set()`` blocks on the process and on its file systems.
final class StartupBreakpoints: Sendable {
    private struct State {
        var events: [OwnedDescriptor] = []
        var boundaries: [UInt64: LaunchBoundary] = [:]
        var watch: StartupLog.Watch?
        var isRemoved = false
    }

    /// The time limit until the launch executes its program.
    private static let patience = Duration.seconds(5)
    /// After execve(2) has replaced the memory, the kernel takes a few hundred microseconds to describe the program.
    private static let describing = Duration.milliseconds(200)

    private let process: HeldProcess
    private let copying: Copying?
    private let ring: OwnedDescriptor
    private let state = Locked(State())

    init(_ process: HeldProcess, by copying: Copying?, ring: OwnedDescriptor) {
        self.process = process
        self.copying = copying
        self.ring = ring
    }

    /// The set breakpoints, and the boundaries by the IDs of their events.
    var watch: (StartupLog.Watch?, [UInt64: LaunchBoundary]) { state.withLock { ($0.watch, $0.boundaries) } }

    func remove() {
        let events = state.withLock { state in
            state.isRemoved = true
            defer { state.events = [] }
            return state.events
        }
        withExtendedLifetime(events) {}
    }

    func set() {
        var entry = pollfd(fd: process.execution.number, events: 0, revents: 0)
        guard poll(&entry, 1, Int32(Self.patience / .milliseconds(1))) == 1, let (image, examined) = examine() else {
            return
        }
        var opened: [(event: OwnedDescriptor, id: UInt64, boundary: LaunchBoundary)] = []
        for boundary in [LaunchBoundary.entry, .main] {
            guard let address = image.boundaries[boundary], let event = open(at: address) else { continue }
            opened.append((event.event, event.id, boundary))
        }
        // The process ID may be reused once ours has been reaped, so check the pidfd: pidfd_open(2).
        var end = pollfd(fd: process.pidfd.number, events: Int16(POLLIN), revents: 0)
        guard poll(&end, 1, 0) == 0 else { return }
        let events = opened
        state.withLock { state in
            guard !state.isRemoved else { return }
            state.events = events.map(\.event)
            for event in events { state.boundaries[event.id] = event.boundary }
            for event in events { wd_record_event_arm(event.event.number, 1) }
            state.watch = StartupLog.Watch(
                boundaries: Set(events.map(\.boundary)), examined: examined, set: .now())
        }
    }

    private func examine() -> (ProgramImage, Instant)? {
        defer { copying?.release() }
        let end = Instant.now() + Self.describing
        var pause: UInt32 = 20
        while true {
            let examined = Instant.now()
            guard examined < end, let image = ProgramImage(startOf: process.pid, by: copying) else {
                return nil
            }
            if image.boundaries[.entry] != nil { return (image, examined) }
            usleep(pause)
            pause = min(pause * 2, 1_000)
        }
    }

    private func open(at address: UInt64) -> (event: OwnedDescriptor, id: UInt64)? {
        let event = wd_record_event(
            kind: WD_RECORD_BREAKPOINT, value: address, excludes_kernel: true, inherits: false, is_enabled: false)
        guard let (number, id) = try? event.open(process.pid) else { return nil }
        let descriptor = OwnedDescriptor(taking: number)
        return wd_record_event_redirect(number, ring.number) == 0 ? (descriptor, id) : nil
    }
}
