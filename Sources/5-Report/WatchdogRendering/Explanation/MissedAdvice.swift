// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// The explanation for a main thread that only waits: in its event loop, or while a check from outside failed at once.
struct MissedAdvice {
    /// Who is at fault.
    let party: Blame.Party
    /// Why, in one sentence without a trailing period.
    let reason: String
    /// What to do.
    let paragraph: String

    /// Calls in which a server waits for clients.
    private static let serving: Set<String> = ["accept", "accept4"]
    /// Calls in which a program that only waits does not explain why a check failed at once.
    private static let waiting: Set<String> = serving.union([
        "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "nanosleep",
        "clock_nanosleep", "pause", "rt_sigtimedwait", "rt_sigsuspend", "io_uring_enter",
    ])

    /// Findings that are not about the main thread's own wait.
    static let elsewhere: Set<Finding.Kind> = [
        .idleEventLoop, .otherThread, .otherProcess, .goroutinesWait, .goroutineWait, .goroutineDeadlock,
    ]

    /// - Returns: nil when the main thread may be the cause: it waits in the app's own code.
    init?(_ linux: LinuxDetails, call: String?) {
        guard linux.verdict.kind == .blocked || linux.verdict.kind == .partlyRunning else { return nil }
        let findings = linux.findings ?? []
        let isGo = findings.contains { $0.kind == .goroutinesWait }
        let missed = linux.missed
        let isServing = missed != nil && call.map(Self.serving.contains) ?? false
        let isInLoop = isServing || findings.contains { $0.kind == .idleEventLoop }
        let failedAtOnce =
            missed?.failure != nil && call.map(Self.waiting.contains) ?? false
            && findings.allSatisfy { Self.elsewhere.union([.repeatedSleep]).contains($0.kind) }
        let cause =
            findings.first { [.goroutineWait, .goroutineDeadlock].contains($0.kind) }
            ?? findings.first { $0.kind == .otherThread }
        if isInLoop, missed?.failure == nil, let cause {
            party = .app
            reason = cause.clause
            paragraph = FindingAdvice.sentence(for: cause.kind) ?? ""
            return
        }
        guard let missed else {
            guard isInLoop else { return nil }
            party = .app
            reason = "its main thread waits in its loop, and nothing in the app woke it to answer"
            paragraph = FindingAdvice.sentence(for: isGo ? .goroutinesWait : .idleEventLoop) ?? ""
            return
        }
        guard isInLoop || failedAtOnce else { return nil }
        party = .unknown
        if isGo, missed.failure == nil {
            reason = "no goroutine runs, and the threads do not show for what they wait"
            paragraph = FindingAdvice.sentence(for: .goroutinesWait) ?? ""
            return
        }
        if missed.failure == nil, linux.server != nil {
            reason = "its main thread waits in its loop; what it was asked may be stuck elsewhere, or forgotten"
            paragraph =
                "The worker has the request and waits in its loop: nothing on its stack is the cause. See what the request "
                + "waits for in turn: a task, a callback, another thread or another service."
            return
        }
        if missed.kind == .probe, missed.failure == nil {
            reason =
                "its main thread waits in its loop; the request may be stuck in a worker process or thread"
            paragraph =
                "The main thread waits in its loop: nothing on its stack is the cause. See which process or thread should "
                + "have answered (ss -ltnp, ps -o pid,ppid,state,wchan:20,cmd --forest), and what that one waits for "
                + "(watchdogd sample PID)."
            return
        }
        switch (missed.kind, isInLoop) {
        case (.probe, true):
            reason = "its main thread waits in its loop; either it does not serve what is probed, or the probe is wrong"
        case (.probe, false):
            reason = "the probe failed at once, which a sleeping main thread does not explain; the probe may be wrong"
        case (.readiness, _):
            reason = "its main thread waits in its loop; either it is not ready, or its Readiness= is wrong"
        }
        let subject = isInLoop ? "The main thread waits in its loop" : "The main thread only sleeps"
        paragraph = "\(subject): nothing on its stack is the cause. " + Self.remedy(missed)
    }

    private static func remedy(_ missed: MissedDetails) -> String {
        let setting = missed.kind == .probe ? "Probe=" : "Readiness="
        return
            if missed.target == "READY=1"
        {
            "See whether the program sends READY=1 at all (sd_notify(3)). If it does not, Readiness=listen:PORT or "
                + "exec:COMMAND reports when it is ready."
        } else if missed.target.hasPrefix("exec:") {
            "Run the command of \(setting) by hand, as the app's user, and see whether it exits with 0."
        } else {
            "See whether the program listens there (ss -ltnp, ss -lxp) and whether \(setting) means that address: "
                + "its own configuration may name another, and its log may say why it does not listen."
        }
    }
}
