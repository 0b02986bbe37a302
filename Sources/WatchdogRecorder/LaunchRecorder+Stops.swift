// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogRecording

extension LaunchRecorder {
    /// The boundaries in the order in which a program passes them; a CPU has four debug registers.
    private static let order: [LaunchBoundary] = [.linker, .debugState, .entry, .main]

    /// The process is stopped in its execve(2): plants breakpoints in the new program.
    func executed(at time: Instant) {
        let process = log.process
        // Events of a task begin here, as does its lane.
        if log.rung == .b, log.executions.isEmpty { base = ProcessFiles.account(process, process) ?? base }
        let image = tracer.image()
        let path = SymbolicLink.target("/proc/\(process)/exe") ?? ""
        var execution = LaunchLog.Execution(time: time, path: path, image: image)
        noteLostPrivileges(path)
        let number = log.executions.count
        let boundaries = Self.order.compactMap { boundary in image?.boundaries[boundary].map { (boundary, $0) } }
        registers = []
        if let events {
            events.removeBreakpoints()
            let isPlanted = boundaries.allSatisfy {
                events.addBreakpoint($0.0, program: number, at: $0.1, process: process)
            }
            if !isPlanted { events.removeBreakpoints() }
            if !isPlanted { plant(boundaries) }
        } else {
            plant(boundaries)
        }
        tracer.resume()
        execution.released = Instant.now()
        if log.executions.count < 1000 { log.executions.append(execution) }
    }

    private func plant(_ boundaries: [(LaunchBoundary, UInt64)]) {
        guard tracer.setBreakpoints(boundaries.map(\.1)) else {
            notes.append("The process's debug registers cannot be set: the phases before main are unknown.")
            return
        }
        registers = boundaries.map(\.0)
    }

    /// The process is stopped at some of its breakpoints.
    func reached(_ indices: [Int], at time: Instant) {
        let process = log.process
        let known = log.stops.count
        for index in indices where registers.indices.contains(index) {
            var account = ProcessFiles.account(process, process)
            if let base, let now = account {
                account = ThreadTime(running: now.running - base.running, waiting: now.waiting - base.waiting)
            }
            log.stops.append(
                LaunchLog.Stop(
                    boundary: registers[index], program: log.executions.count - 1, time: time, accounting: account))
            if registers[index] == registers.last { _ = tracer.setBreakpoints([]) }
        }
        tracer.resume()
        let released = Instant.now()
        for index in known..<log.stops.count { log.stops[index].released = released }
    }

    /// A traced process's execve(2) raises no privileges, unless its tracer may trace everything.
    private func noteLostPrivileges(_ path: String) {
        guard geteuid() != 0, Privileges.areRaised(by: "/proc/\(log.process)/exe") else { return }
        notes.append(
            "\(path) raises its privileges (set-user-ID or file capabilities), but ran without them because it was traced:"
                + " record it directly, or as root.")
    }
}
