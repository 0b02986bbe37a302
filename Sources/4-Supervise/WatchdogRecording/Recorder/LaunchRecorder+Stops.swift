// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

extension LaunchRecorder {
    /// The boundaries in the order in which a program passes them; a CPU has four debug registers.
    private static let order: [LaunchBoundary] = [.linker, .debugState, .entry, .main]
    private static let stopLimit = 4096
    private static let executionLimit = 1000

    /// Sets breakpoints in the new program; the process is stopped in its execve(2).
    func executed(at time: Instant) {
        let process = log.process
        guard log.executions.count < Self.executionLimit else {
            events?.removeBreakpoints()
            registers = []
            return tracer.resume()
        }
        // Per-task events start here, and so does the lane.
        if log.rung == .b, log.executions.isEmpty { base = ProcessFiles.account(process, process) ?? base }
        let image = ProgramImage(process: process)
        let path = SymbolicLink.target("/proc/\(process)/exe") ?? ""
        var execution = LaunchLog.Execution(time: time, path: path, image: image)
        noteLostPrivileges(path)
        let number = log.executions.count
        let boundaries = Self.order.compactMap { boundary in image?.boundaries[boundary].map { (boundary, $0) } }
        registers = []
        untimed = []
        isSearched = false
        if let events {
            events.removeBreakpoints()
            // Stop the process only where the dynamic linker is about to run constructors.
            let stops = boundaries.filter { probeType != nil && $0.0 == .debugState }
            if probeType != nil, stops.isEmpty { noteUntimed(image) }
            let isPlanted = boundaries.filter { stops.isEmpty || $0.0 != .debugState }.allSatisfy {
                events.addBreakpoint($0.0, program: number, at: $0.1, process: process)
            }
            if !isPlanted {
                events.removeBreakpoints()
                plant(boundaries)
            } else if let stop = stops.first {
                plantStop(stop, program: number)
            }
        } else {
            plant(boundaries)
        }
        tracer.resume()
        execution.released = Instant.now()
        log.executions.append(execution)
    }

    /// Sets a stop at the end of the relocation; if that is not possible, only the time is recorded.
    private func plantStop(_ stop: (boundary: LaunchBoundary, address: UInt64), program: Int) {
        if tracer.setBreakpoints([stop.address]) {
            registers = [stop]
        } else {
            untimed.append("The constructors are not timed: the process's debug registers cannot be set.")
            _ = events?.addBreakpoint(stop.boundary, program: program, at: stop.address, process: log.process)
        }
    }

    private func plant(_ boundaries: [(LaunchBoundary, UInt64)]) {
        guard tracer.setBreakpoints(boundaries.map(\.1)) else {
            notes.append("The process's debug registers cannot be set: the phases before main are unknown.")
            return
        }
        registers = boundaries.map { (boundary: $0.0, address: $0.1) }
    }

    /// Handles a stop at these breakpoints.
    func reached(_ indices: [Int], at time: Instant) {
        let process = log.process
        let known = log.stops.count
        var passed: Set<LaunchBoundary> = []
        for boundary in indices.filter(registers.indices.contains).map({ registers[$0].boundary }) {
            var account = ProcessFiles.account(process, process)
            if let base, let now = account {
                account = ThreadTime(running: now.running - base.running, waiting: now.waiting - base.waiting)
            }
            log.stops.append(
                LaunchLog.Stop(
                    boundary: boundary, program: log.executions.count - 1, time: time, accounting: account))
            let isRelocated = isRelocated(boundary)
            if isRelocated { probeConstructors() }
            if isRelocated || boundary != .debugState { passed.insert(boundary) }
        }
        disarm(passed)
        tracer.resume()
        let released = Instant.now()
        for index in known..<log.stops.count { log.stops[index].released = released }
    }

    /// Clears the debug registers of boundaries that the program has passed, and all after the last of them.
    private func disarm(_ passed: Set<LaunchBoundary>) {
        // Bounded, because a program may call the dynamic linker's function any number of times.
        let isDone =
            log.stops.count >= Self.stopLimit || registers.last.map { passed.contains($0.boundary) } ?? false
        let left = isDone ? [] : registers.filter { !passed.contains($0.boundary) }
        guard left.count < registers.count, tracer.setBreakpoints(left.map(\.address)) else { return }
        registers = left
    }

    /// Records that the program runs without its file's privileges: execve(2) of a traced process does not raise them,
    /// unless the tracer has CAP_SYS_PTRACE.
    private func noteLostPrivileges(_ path: String) {
        guard geteuid() != 0, Privileges.areRaised(by: "/proc/\(log.process)/exe") else { return }
        notes.append(
            "\(path) raises its privileges (set-user-ID or file capabilities), but ran without them because it was traced:"
                + " record it directly, or as root.")
    }
}
