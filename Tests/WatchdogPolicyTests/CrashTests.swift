// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogPolicy

@Suite("Unexpected exits")
struct CrashTests {
    private func crash(
        _ cause: Outcome.Cause, _ status: WatchdogBase.ExitStatus?, _ reports: CrashReports? = .all,
        forwarded: Set<Int32> = []
    ) -> Crash? {
        Crash(
            Outcome(cause: cause, status: status, isDeathVerified: true), reporting: reports, forwarded: forwarded)
    }

    private func signal(_ number: Int32) -> WatchdogBase.ExitStatus { .signaled(signal: number, coreDumped: false) }

    private static let incident = {
        let now = Instant(nanoseconds: 0)
        return Incident(
            id: 1, event: .sceneUpdate, cause: .exhausted, allowance: .zero, startedAt: now, windowStart: now,
            deadline: now, decidedAt: now, credit: .zero, extended: .zero, paused: .zero, rebases: 0, evidence: nil,
            visibility: .foreground, isSuspended: false, isEnforced: true)
    }()

    @Test("Faults, aborts and SIGKILL from others are crashes", arguments: [3, 4, 5, 6, 7, 8, 9, 11, 14, 31, 34])
    func signals(number: Int32) {
        #expect(crash(.exited, signal(number))?.status == signal(number))
        #expect(crash(.exited, signal(number), .signals) != nil)
        #expect(crash(.exited, signal(number), nil) == nil, "not where nobody wants it")
    }

    @Test("Signals that request termination are not crashes", arguments: [1, 2, 13, 15])
    func polite(number: Int32) {
        #expect(crash(.exited, signal(number)) == nil)
        #expect(crash(.terminated, signal(number)) == nil)
    }

    @Test("A nonzero exit code is a crash if configured; 0 never is")
    func codes() {
        #expect(crash(.exited, .exited(code: 3)) != nil)
        #expect(crash(.exited, .exited(code: 3), .signals) == nil)
        #expect(crash(.exited, .exited(code: 0)) == nil)
    }

    @Test("After a termination request, only an exit with a core dump is a crash")
    func terminated() {
        #expect(crash(.terminated, .exited(code: 1)) == nil)
        #expect(crash(.terminated, signal(9)) == nil)
        #expect(crash(.terminated, signal(10)) == nil)
        #expect(crash(.terminated, .unknown) == nil)
        #expect(crash(.terminated, signal(11))?.wasEnding == true)
        #expect(crash(.exited, signal(11))?.wasEnding == false)
    }

    @Test("The supervisor's own kills are not crashes, whatever the signal", arguments: [6, 9, 11])
    func killed(number: Int32) {
        #expect(crash(.watchdog(Self.incident), signal(number)) == nil)
        #expect(crash(.killedOnRequest, signal(number)) == nil)
        #expect(crash(.spawnFailed, nil) == nil)
    }

    @Test("A forwarded signal is not a crash; a different one is")
    func forwarded() {
        #expect(crash(.exited, signal(10), forwarded: [10]) == nil)
        #expect(crash(.exited, signal(12), forwarded: [10]) != nil)
    }

    @Test("An exit with an unknown status is left to the evidence")
    func unknown() {
        #expect(crash(.exited, .unknown)?.status == .unknown)
        #expect(crash(.exited, nil) == nil)
    }
}
