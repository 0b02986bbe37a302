// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension Verdict {
    /// Judges the evidence, and never claims more than it shows.
    ///
    /// A process that is held from outside (frozen, traced, stopped) comes first, because the shares are then
    /// meaningless. Next come the shares of the window, and without them the state as read once.
    public init(judging evidence: HangEvidence) {
        let shares = CPUShares(evidence)
        let finding = Judgement(evidence, shares)
        let tail =
            shares.map {
                "\(percentText(tenths: $0.tenths($0.running))) running, "
                    + "\(percentText(tenths: $0.tenths($0.waiting))) waiting for CPU"
            } ?? "time on the CPU not known"
        self.init(
            kind: finding.kind,
            runningTenths: shares.map { $0.tenths($0.running) },
            waitingTenths: shares.map { $0.tenths($0.waiting) },
            line: finding.kind == .unknown && shares == nil ? finding.text : "\(finding.text) · \(tail)",
            brief: finding.brief
        )
    }
}

/// The verdict's kind and wording, without the shares.
private struct Judgement {
    let kind: Verdict.Kind
    let text: String
    let brief: String

    init(_ evidence: HangEvidence, _ shares: CPUShares?) {
        let place = WaitingPlace(evidence)
        if let held = Self(heldFromOutside: evidence, place) {
            self = held
        } else if let shares {
            self.init(evidence, shares, place)
        } else {
            self.init(oneLookAt: evidence, place)
        }
    }

    private init(_ kind: Verdict.Kind, _ text: String, brief: String? = nil) {
        self.kind = kind
        self.text = text
        self.brief = brief ?? kind.rawValue
    }

    private init?(heldFromOutside evidence: HangEvidence, _ place: WaitingPlace) {
        if evidence.isFrozen == true || evidence.isInFreezer {
            self.init(.frozen, "Process frozen with its cgroup")
        } else if let tracer = evidence.tracer, tracer > 0 {
            let main =
                evidence.state.map { $0 == "t" ? ", which had stopped it" : ", main thread in state \($0)" } ?? ""
            self.init(.traced, "Process traced by pid \(tracer)\(main)", brief: "traced by \(tracer)")
        } else if evidence.state == "t" {
            self.init(.traced, "Main thread stopped by a tracer (state t)")
        } else if evidence.state == "T" {
            self.init(.stopped, "Main thread stopped by a signal (state T)")
        } else if let state = evidence.state, state == "Z" || state == "X" {
            self.init(.exited, "Main thread has ended (state \(state)), the process has not")
        } else {
            return nil
        }
    }

    private init(_ evidence: HangEvidence, _ shares: CPUShares, _ place: WaitingPlace) {
        let window = shares.window.seconds(fractionDigits: 2)
        let running = shares.running.seconds(fractionDigits: 2)
        let waiting = shares.waiting.seconds(fractionDigits: 2)
        let sleeping = shares.sleeping.seconds(fractionDigits: 2)
        let theft = evidence.strain?.theftText.map { "; \($0)" } ?? ""
        if let strain = evidence.strain, strain.isThrottled,
            !shares.isAtLeast(VerdictThresholds.spinning, shares.running),
            evidence.state == "R" || shares.isAtLeast(VerdictThresholds.starved, shares.waiting)
        {
            let throttled = strain.throttled.seconds(fractionDigits: 2)
            let watched = strain.window.seconds(fractionDigits: 2)
            self.init(
                .throttled,
                "Main thread throttled: the CPU quota of its cgroup withheld \(throttled) s of CPU time in \(watched) s"
                    + " (\(strain.throttledPercent) % of one CPU)")
        } else if let strain = evidence.strain, strain.isMemoryStalled, evidence.isPagingIn,
            !shares.isAtLeast(VerdictThresholds.spinning, shares.running)
        {
            let stalled = strain.memoryStalled.seconds(fractionDigits: 2)
            let watched = strain.window.seconds(fractionDigits: 2)
            self.init(
                .memoryStalled,
                "Main thread stalled on memory: tasks waited for memory \(stalled) s of \(watched) s, and it for "
                    + "\(strain.majorFaults ?? 0) pages from disk")
        } else if shares.isSpinning {
            let isSlowed = !shares.isAtLeast(VerdictThresholds.spinning, shares.running)
            self.init(
                .spinning,
                "Main thread spinning: ran \(running) s of \(window) s"
                    + (isSlowed ? ", and waited \(waiting) s for \(evidence.processors)\(theft)" : ""))
        } else if shares.isAtLeast(VerdictThresholds.starved, shares.waiting) {
            self.init(
                .starved, "Main thread starved: waited \(waiting) s of \(window) s for \(evidence.processors)" + theft)
        } else if shares.isAtLeast(VerdictThresholds.busy, shares.wanting) {
            self.init(
                .busy,
                "Main thread busy: ran \(running) s and waited \(waiting) s for a CPU, of \(window) s"
                    + theft)
        } else if !shares.isBlocked(throughout: evidence.isSameSleep) {
            let last = place.isKnown ? ", last seen \(place.text)" : ""
            self.init(.partlyRunning, "Main thread partly running: slept \(sleeping) s of \(window) s\(last)")
        } else if evidence.state == "D", !evidence.isWaitingForProcess {
            self.init(
                .uninterruptible, "Main thread in uninterruptible sleep \(sleeping) s \(place.text)",
                brief: "D state\(place.brief)")
        } else {
            let isDeadlocked = evidence.waits.contains(where: \.isDeadlocked)
            self.init(
                .blocked, "Main thread blocked \(sleeping) s \(place.text)",
                brief: (isDeadlocked ? Verdict.deadlock : "blocked") + place.brief)
        }
    }

    private init(oneLookAt evidence: HangEvidence, _ place: WaitingPlace) {
        let there = place.isKnown ? " \(place.text)" : ""
        switch evidence.state {
        case "D" where !evidence.isWaitingForProcess:
            self.init(
                .uninterruptible, "Main thread in uninterruptible sleep\(there) when sampled",
                brief: "D state\(place.brief)")
        case "S", "I", "D":
            self.init(.blocked, "Main thread asleep\(there) when sampled", brief: "blocked\(place.brief)")
        case "R":
            self.init(.unknown, "Main thread runnable when sampled; no evidence whether it got a CPU")
        case nil where place.isKnown:
            self.init(.blocked, "Main thread \(place.text) when sampled", brief: "blocked\(place.brief)")
        default:
            self.init(.unknown, "No evidence of what the main thread did")
        }
    }
}

extension HangEvidence {
    /// `one of 2 CPUs, which pid 900 "make" (4.80 s) had`.
    fileprivate var processors: String {
        "one of \(processorCount.counted("CPU"))"
            + (strain?.consumersText.map { ", which \($0) had" } ?? "")
    }
}
