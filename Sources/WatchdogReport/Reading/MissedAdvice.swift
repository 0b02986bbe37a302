// SPDX-License-Identifier: Apache-2.0

/// What there is to say when the main thread is idle and something outside did not find what it looked for.
struct MissedAdvice {
    /// Why nobody can be blamed, in one sentence without a final stop.
    let reason: String
    /// What to do.
    let paragraph: String

    /// Calls in which a main loop without work waits, and a program that does nothing else.
    private static let idleCalls: Set<String> = [
        "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "accept", "accept4",
        "nanosleep", "clock_nanosleep", "pause", "rt_sigtimedwait", "rt_sigsuspend", "io_uring_enter",
    ]

    /// - Returns: nil when the main thread may be the cause: it is not idle, or did not answer a probe that reached it.
    init?(_ linux: LinuxDetails, call: String?) {
        guard let missed = linux.missed, missed.kind == .readiness || missed.failure != nil,
            linux.verdict.kind == .blocked, let call, Self.idleCalls.contains(call),
            linux.findings?.allSatisfy({ $0.kind == .idleEventLoop }) ?? true
        else { return nil }
        reason =
            missed.kind == .probe
            ? "its main thread was idle; either it does not serve what is probed, or the probe is wrong"
            : "its main thread was idle; either it is not ready, or what is waited for is wrong"
        let setting = missed.kind == .probe ? "Probe=" : "Readiness="
        let remedy =
            if missed.target == "READY=1" {
                "See whether the program sends READY=1 at all (sd_notify(3)). If it does not, Readiness=listen:PORT or "
                    + "exec:COMMAND tells when it is ready."
            } else if missed.target.hasPrefix("exec:") {
                "Run the command of \(setting) by hand, as the app's user: what it says is what counts."
            } else {
                "See whether the program listens there (ss -ltnp, ss -lxp) and whether \(setting) means that address: "
                    + "its own configuration may name another, and its log may say why it does not listen."
            }
        paragraph = "The main thread is idle: nothing on its stack is the cause. " + remedy
    }
}
