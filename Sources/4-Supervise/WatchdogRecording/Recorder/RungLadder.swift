// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// Finds the best rung by trying them in order.
struct RungLadder {
    private(set) var attempts: [RungAttempt] = []
    private(set) var rung = Rung.d
    private(set) var events: EventSet?
    private let request: RecordingRequest

    init(_ request: RecordingRequest, process: Int32, tracer: Tracer) throws(RecordingError) {
        self.request = request
        if Privileges.areRaised(by: request.executable) {
            refuse(
                [.a, .b, .c],
                "the program raises its privileges (set-user-ID or file capabilities), and a trace would drop them",
                "run as root")
        } else if request.rung == .d {
            refuse([.a, .b, .c], "rung D was requested", nil)
        } else if Privileges.areChanged(by: request.executable) {
            refuse([.a, .b], "the kernel stops recording where the program's file changes its user or group", nil)
            trace(tracer)
        } else {
            climb(process)
            trace(tracer)
        }
        attempts.append(RungAttempt(rung: .d, used: rung == .d, reason: rung == .d ? nil : "not needed"))
        if let wanted = request.rung, wanted != rung {
            let why = attempts.first { $0.rung == wanted }
            throw RecordingError(
                "rung \(wanted.rawValue) is not possible here: \(why?.reason ?? "unknown")"
                    + (why?.remedy.map { "; \($0)" } ?? ""), exitCode: 77)
        }
    }

    private mutating func climb(_ process: Int32) {
        for (rung, isWide) in [(Rung.a, true), (.b, false)] {
            guard request.rung == nil || request.rung == rung else {
                refuse([rung], "rung \(request.rung?.rawValue ?? "") was requested", nil)
                continue
            }
            guard events == nil else {
                refuse([rung], "not needed", nil)
                continue
            }
            do throws(LinuxError) {
                events = try EventSet(process: process, isWide: isWide)
                self.rung = rung
                attempts.append(RungAttempt(rung: rung, used: true))
            } catch {
                let refusal = PerfRefusal(error, isWide: isWide)
                refuse([rung], refusal.reason, refusal.remedy)
            }
        }
    }

    private mutating func trace(_ tracer: Tracer) {
        do throws(LinuxError) {
            try tracer.seize()
            if events == nil, request.rung == nil || request.rung == .c { rung = .c }
            attempts.append(RungAttempt(rung: .c, used: rung == .c, reason: rung == .c ? nil : "not needed"))
        } catch {
            // Without the stop at execve, breakpoints cannot be set.
            events = nil
            rung = .d
            attempts = []
            refuse([.a, .b, .c], "\(error)", "run outside of the sandbox or debugger, or as root")
        }
    }

    private mutating func refuse(_ rungs: [Rung], _ reason: String, _ remedy: String?) {
        attempts += rungs.map { RungAttempt(rung: $0, used: false, reason: reason, remedy: remedy) }
    }
}
