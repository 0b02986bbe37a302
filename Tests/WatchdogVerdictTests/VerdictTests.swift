// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Verdict")
struct VerdictTests {
    /// Ten seconds divided into running and waiting, in tenths of a percent and a rest in nanoseconds.
    private func evidence(running: Int, waiting: Int = 0, more: Int = 0, state: Character = "S") -> HangEvidence {
        HangEvidence(
            window: .seconds(10), runTime: .milliseconds(10 * running) + .nanoseconds(more),
            runDelay: .milliseconds(10 * waiting), state: state, processorCount: 2)
    }

    @Test("A blocked main thread is described with its call, its descriptor and its shares")
    func blocked() {
        let verdict = Verdict(judging: Samples.blocked)
        #expect(
            verdict.line
                == "Main thread blocked 19.97 s in recvfrom (fd 7) · 0.4 % running, 0.0 % waiting for CPU")
        #expect(verdict.kind == .blocked)
        #expect(verdict.runningTenths == 4)
        #expect(verdict.waitingTenths == 0)
        #expect(verdict.brief == "blocked in recvfrom")
    }

    @Test("A subject replaces the descriptor")
    func subject() {
        var evidence = Samples.blocked
        evidence.subject = "fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, nothing received"
        #expect(
            Verdict(judging: evidence).line.hasPrefix(
                "Main thread blocked 19.97 s in recvfrom (fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, nothing received) ·"
            ))
    }

    // MARK: Boundaries

    @Test("Up to 5.0 % on a CPU is blocked; anything above is not")
    func blockedBoundary() {
        #expect(Verdict(judging: evidence(running: 50)).kind == .blocked)
        #expect(Verdict(judging: evidence(running: 50, more: 1)).kind == .partlyRunning)
        #expect(Verdict(judging: evidence(running: 50, waiting: 150)).kind == .blocked)
    }

    @Test("Waiting for a CPU is not running: a thread that slept for 80.0 % is blocked; less is not")
    func asleepBoundary() {
        #expect(Verdict(judging: evidence(running: 0, waiting: 60)).kind == .blocked)
        #expect(Verdict(judging: evidence(running: 20, waiting: 180)).kind == .blocked)
        #expect(Verdict(judging: evidence(running: 20, waiting: 180, more: 1)).kind == .partlyRunning)
    }

    @Test("Up to 10.0 % on a CPU is blocked if every sample shows the same sleep; anything above is not")
    func sameSleepBoundary() {
        func kind(_ running: Int, _ waiting: Int = 0, more: Int = 0) -> Verdict.Kind {
            var evidence = evidence(running: running, waiting: waiting, more: more)
            evidence.isSameSleep = true
            return Verdict(judging: evidence).kind
        }
        #expect(kind(75, 26) == .blocked)
        #expect(kind(100) == .blocked)
        #expect(kind(100, more: 1) == .partlyRunning)
        #expect(kind(100, 100) == .blocked)
        #expect(kind(100, 101) == .partlyRunning)
    }

    @Test("From 90.0 % on a CPU it is spinning; anything below is not")
    func spinningBoundary() {
        #expect(Verdict(judging: evidence(running: 900)).kind == .spinning)
        #expect(Verdict(judging: evidence(running: 900, more: -1)).kind == .partlyRunning)
    }

    @Test("A computation that others slow down is spinning from 30.0 % on a CPU and a second on; anything below is not")
    func slowedBoundary() {
        #expect(Verdict(judging: self.evidence(running: 300, waiting: 600)).kind == .spinning)
        #expect(Verdict(judging: self.evidence(running: 300, waiting: 600, more: -1)).kind == .starved)
        #expect(Verdict(judging: self.evidence(running: 299, waiting: 701)).kind == .starved)
        func kind(ran: Duration) -> Verdict.Kind {
            var evidence = self.evidence(running: 0, state: "R")
            (evidence.window, evidence.runTime, evidence.runDelay) = (.seconds(2), ran, .milliseconds(950))
            return Verdict(judging: evidence).kind
        }
        #expect(kind(ran: .seconds(1)) == .spinning)
        #expect(kind(ran: .seconds(1) - .nanoseconds(1)) == .busy)
        var evidence = self.evidence(running: 400, waiting: 590)
        evidence.strain = Strain(window: .seconds(2))
        #expect(
            Verdict(judging: evidence).line
                == "Main thread spinning: ran 4.00 s of 10.00 s, and waited 5.90 s for one of 2 CPUs"
                + " · 40.0 % running, 59.0 % waiting for CPU")
    }

    @Test("From 50.0 % waiting for a CPU it is starved; anything below is not")
    func starvedBoundary() {
        #expect(Verdict(judging: evidence(running: 100, waiting: 500)).kind == .starved)
        #expect(Verdict(judging: evidence(running: 100, waiting: 499)).kind == .partlyRunning)
    }

    @Test("From 90.0 % awake it is busy; anything below is partly running")
    func busyBoundary() {
        func kind(more: Duration) -> Verdict.Kind {
            var evidence = evidence(running: 0, state: "R")
            (evidence.window, evidence.runTime) = (.seconds(1), .milliseconds(600) + more)
            evidence.runDelay = .milliseconds(300)
            return Verdict(judging: evidence).kind
        }
        #expect(kind(more: .zero) == .busy)
        #expect(kind(more: .nanoseconds(-1)) == .partlyRunning)
    }

    @Test("The state letter D makes only a blocked thread uninterruptible")
    func uninterruptible() {
        #expect(Verdict(judging: evidence(running: 50, state: "D")).kind == .uninterruptible)
        #expect(Verdict(judging: evidence(running: 50, more: 1, state: "D")).kind == .partlyRunning)
    }

    @Test(
        "A wait for a child that has not yet executed its program is not a device's uninterruptible sleep",
        arguments: [
            ("58 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", false, true),
            ("56 0x4111 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", false, true),
            ("56 0x1200011 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", true, false),
            ("435 0x7ffc 0x58 0x0 0x8 0x0 0x0 0x7ffe 0x7f00", true, true),
            ("435 0x7ffc 0x58 0x0 0x8 0x0 0x0 0x7ffe 0x7f00", false, false),
            ("0 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", true, false),
        ])
    func startsChild(syscall: String, hasChild: Bool, isChildsWait: Bool) {
        var evidence = evidence(running: 0, state: "D")
        evidence.syscall = syscall
        evidence.waitChannel = "kernel_clone"
        let child = WaitDetails.Holder(relation: .child, process: 9, name: "kid", state: "S")
        evidence.waits =
            hasChild
            ? [
                WaitDetails(
                    process: 1, thread: 1, name: "app", syscall: syscall, subject: "child", holder: child, sources: [])
            ]
            : []
        let verdict = Verdict(judging: evidence)
        #expect(verdict.kind == (isChildsWait ? .blocked : .uninterruptible))
        if isChildsWait { #expect(!verdict.line.contains("kernel_clone")) }
        evidence.window = nil
        #expect(Verdict(judging: evidence).kind == (isChildsWait ? .blocked : .uninterruptible))
    }

    @Test(
        "A frozen file system is named, for a call and for a page",
        arguments: [
            (
                "1 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", "percpu_rwsem_wait",
                "in write (fd 3, on a frozen file system)"
            ),
            ("82 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", "__percpu_down_read", "in rename (on a frozen file system)"),
            ("-1 0x7ffe 0x7f00", "percpu_rwsem_wait", "outside any system call (on a frozen file system)"),
            ("435 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", "percpu_rwsem_wait", "in clone3 "),
            (
                "1 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", "folio_wait_bit",
                "in write (fd 3) (wait channel folio_wait_bit)"
            ),
        ])
    func frozenFileSystem(syscall: String, channel: String, place: String) {
        var evidence = evidence(running: 0, state: "D")
        evidence.syscall = syscall
        evidence.waitChannel = channel
        let verdict = Verdict(judging: evidence)
        #expect(verdict.kind == .uninterruptible)
        #expect(verdict.line.contains("uninterruptible sleep 10.00 s \(place)"), "\(verdict.line)")
        #expect(verdict.line.contains("frozen") == place.contains("frozen"))
        #expect(evidence.isPagingIn == false)
    }

    @Test(
        "A wait for the process's own memory map is not a device's uninterruptible sleep",
        arguments: [
            ("__vm_munmap", "D", true), ("lock_mm_and_find_vma", "D", true), ("folio_wait_bit_common", "D", false),
            ("__vm_munmap", "S", true), ("0", "D", false),
        ] as [(String, Character, Bool)])
    func memoryMap(channel: String, state: Character, isBlocked: Bool) {
        var evidence = evidence(running: 0, state: state)
        evidence.syscall = "11 0x7f2fb234d000 0x1000 0x3 0x0 0x0 0x0 0x7ffe 0x7f00"
        evidence.waitChannel = channel
        let verdict = Verdict(judging: evidence)
        #expect(verdict.kind == (isBlocked ? .blocked : .uninterruptible))
        let isForMap = isBlocked && state == "D"
        #expect(verdict.line.contains("in munmap (the lock of the process's memory map)") == isForMap)
        evidence.syscall = "-1 0x7ffe 0x7f00"
        #expect(evidence.isPagingIn == (state == "D" && !isForMap))
        #expect(Verdict(judging: evidence).line.contains("outside any system call (the lock") == isForMap)
    }

    @Test("Shares are rounded to tenths of a percent")
    func sharesAreRounded() {
        let low = Verdict(judging: evidence(running: 4, more: 4_999_999))
        let high = Verdict(judging: evidence(running: 4, more: 5_000_000))
        #expect(low.runningTenths == 4)
        #expect(high.runningTenths == 5)
        #expect(high.line.hasSuffix("0.5 % running, 0.0 % waiting for CPU"))
    }

    // MARK: Stopped, traced or frozen

    @Test("A party that holds the process from outside is named before any share")
    func heldFromOutside() {
        var evidence = evidence(running: 0)
        evidence.state = "T"
        #expect(Verdict(judging: evidence).kind == .stopped)
        #expect(Verdict(judging: evidence).line.hasPrefix("Main thread stopped by a signal (state T) ·"))
        evidence.state = "t"
        #expect(Verdict(judging: evidence).kind == .traced)
        evidence.tracer = 4_711
        #expect(Verdict(judging: evidence).line.hasPrefix("Process traced by pid 4711, which had stopped it ·"))
        evidence.state = "S"
        #expect(Verdict(judging: evidence).line.hasPrefix("Process traced by pid 4711, main thread in state S ·"))
        evidence.isFrozen = true
        #expect(Verdict(judging: evidence).kind == .frozen)
    }

    @Test("The freezer of cgroup version 1 is not uninterruptible sleep", arguments: ["__refrigerator", "freezer"])
    func freezer(waitChannel: String) {
        var evidence = evidence(running: 0, state: "D")
        evidence.waitChannel = "folio_wait_bit_common"
        #expect(Verdict(judging: evidence).kind == .uninterruptible)
        evidence.waitChannel = waitChannel
        #expect(Verdict(judging: evidence).kind == .frozen)
        evidence.state = "S"
        #expect(Verdict(judging: evidence).kind == .blocked)
    }

    @Test("CPU time withheld by a quota on several CPUs may exceed the observed time")
    func throttled() {
        var evidence = evidence(running: 100, waiting: 800, state: "R")
        evidence.strain = Strain(window: .milliseconds(4_310))
        evidence.strain?.throttled = .milliseconds(8_110)
        #expect(
            Verdict(judging: evidence).line.hasPrefix(
                "Main thread throttled: the CPU quota of its cgroup withheld 8.11 s of CPU time in 4.31 s"
                    + " (188 % of one CPU) ·"))
        evidence.strain?.throttled = .milliseconds(4_300)
        #expect(Verdict(judging: evidence).line.contains("withheld 4.30 s of CPU time in 4.31 s (100 % of one CPU) ·"))
        evidence.strain = Strain(window: .nanoseconds(1))
        evidence.strain?.throttled = .nanoseconds(Int64.max)
        #expect(Verdict(judging: evidence).kind == .throttled, "absurd counters are no reason to trap")
    }

    @Test("Time for which watchdogd stopped the main thread is neither sleep nor part of the window")
    func stoppedByWatchdogd() {
        var evidence = evidence(running: 800, state: "R")
        #expect(Verdict(judging: evidence).kind == .partlyRunning)
        evidence.stopped = .milliseconds(1_111)
        #expect(Verdict(judging: evidence).kind == .partlyRunning, "8 s of 8.889 s are less than 90 %")
        evidence.stopped = .milliseconds(1_112)
        #expect(Verdict(judging: evidence).line.hasPrefix("Main thread spinning: ran 8.00 s of 8.89 s ·"))
        evidence.stopped = .seconds(20)
        #expect(Verdict(judging: evidence).line.hasPrefix("Main thread spinning: ran 8.00 s of 8.00 s ·"))
        evidence.runTime = .zero
        evidence.runDelay = .zero
        #expect(Verdict(judging: evidence).runningTenths == 0, "a stop as long as the window is no reason to trap")
    }

    @Test("Stolen time is reported from a tenth of the time on")
    func stolen() {
        var evidence = evidence(running: 600, waiting: 350, state: "R")
        evidence.strain = Strain(window: .seconds(2))
        evidence.strain?.stolen = .milliseconds(200)
        #expect(
            Verdict(judging: evidence).line.hasPrefix(
                "Main thread spinning: ran 6.00 s of 10.00 s, and waited 3.50 s for one of 2 CPUs; the hypervisor took "
                    + "0.20 s of CPU time in 2.00 s ·"))
        evidence.strain?.stolen = .milliseconds(199)
        #expect(!Verdict(judging: evidence).line.contains("hypervisor"))
    }

    @Test("Tracer 0 means no tracer, and a cgroup that is not frozen freezes nothing")
    func notHeld() {
        var evidence = evidence(running: 0)
        evidence.tracer = 0
        evidence.isFrozen = false
        #expect(Verdict(judging: evidence).kind == .blocked)
    }

    @Test("A main thread that has exited is described as such", arguments: ["Z", "X"] as [Character])
    func exited(state: Character) {
        #expect(Verdict(judging: evidence(running: 0, state: state)).kind == .exited)
    }

    // MARK: Less evidence

    @Test("Without evidence the verdict states that")
    func noEvidence() {
        let verdict = Verdict(judging: HangEvidence(processorCount: 2))
        #expect(verdict.kind == .unknown)
        #expect(verdict.line == "No evidence of what the main thread did")
        #expect(verdict.runningTenths == nil)
    }

    @Test("A single reading of the state yields no duration")
    func oneLook() {
        let sleeping = HangEvidence(state: "S", syscall: Samples.blocked.syscall, processorCount: 2)
        #expect(
            Verdict(judging: sleeping).line
                == "Main thread asleep in recvfrom (fd 7) when sampled · time on the CPU not known")
        let running = HangEvidence(state: "R", syscall: "running", processorCount: 2)
        #expect(Verdict(judging: running).kind == .unknown)
        let disk = HangEvidence(state: "D", waitChannel: "folio_wait_bit_common", processorCount: 2)
        #expect(
            Verdict(judging: disk).line
                == "Main thread in uninterruptible sleep in the kernel at folio_wait_bit_common when sampled"
                + " · time on the CPU not known")
    }

    @Test("A counter that ran backwards and an empty window are not evidence")
    func impossibleCounters() {
        var evidence = evidence(running: 500)
        evidence.runTime = .nanoseconds(-1)
        #expect(Verdict(judging: evidence).runningTenths == nil)
        evidence = self.evidence(running: 0)
        evidence.window = .zero
        #expect(Verdict(judging: evidence).runningTenths == nil)
    }

    @Test("Counters that exceed the window by a tick stay within 100 %")
    func countersAheadOfTheWindow() {
        let verdict = Verdict(judging: evidence(running: 1_001, waiting: 3))
        #expect(verdict.kind == .spinning)
        #expect(verdict.runningTenths == 1_000)
        #expect(verdict.waitingTenths == 0)
    }

    // MARK: The place of the wait

    @Test(
        "The verdict states where the thread waits, as far as known",
        arguments: [
            ("202 0x5 0x80 0x0 0x0 0x0 0x0 0x1 0x2", nil, "in futex"),
            ("7 0x7ffd 0x2 0x1 0x0 0x0 0x0 0x1 0x2", "do_sys_poll", "in poll"),
            ("401 0x1 0x2 0x1 0x0 0x0 0x0 0x1 0x2", nil, "in system call 401"),
            ("401 0x1 0x2 0x1 0x0 0x0 0x0 0x1 0x2", "some_wait", "in system call 401 (wait channel some_wait)"),
            (
                "219 0x1 0x2 0x1 0x0 0x0 0x0 0x1 0x2", "hrtimer_nanosleep",
                "in restart_syscall, a sleep resumed after an interruption (wait channel hrtimer_nanosleep)"
            ),
            ("-1 0x1 0x2", "userfaultfd", "outside any system call (wait channel userfaultfd)"),
            ("running", "0", "until just before the sample, then runnable"),
            (nil, "ep_poll", "in the kernel at ep_poll"),
            (nil, "0", "on something unknown"),
            (nil, nil, "on something unknown"),
            ("garbage", "\u{1b}[31m", "on something unknown"),
        ] as [(String?, String?, String)]
    )
    func whereItWaits(syscall: String?, waitChannel: String?, text: String) {
        var evidence = evidence(running: 0)
        evidence.syscall = syscall
        evidence.waitChannel = waitChannel
        #expect(
            Verdict(judging: evidence).line
                == "Main thread blocked 10.00 s \(text) · 0.0 % running, 0.0 % waiting for CPU")
    }

    @Test("The machine's share of the blame is given with its CPUs")
    func starvedLine() {
        #expect(
            Verdict(judging: evidence(running: 250, waiting: 748)).line
                == "Main thread starved: waited 7.48 s of 10.00 s for one of 2 CPUs"
                + " · 25.0 % running, 74.8 % waiting for CPU")
    }

    @Test("Every piece of evidence names its source")
    func sources() {
        let statements = Samples.blocked.statements(pid: 4242)
        #expect(statements.allSatisfy { !$0.source.isEmpty && !$0.value.isEmpty })
        #expect(
            statements.contains(
                EvidenceStatement(
                    what: "main thread's time on a CPU in the window", value: "0.080000 s",
                    source: "/proc/4242/task/4242/schedstat field 1")))
        #expect(HangEvidence(processorCount: 1).statements(pid: 1).map(\.what) == ["CPUs online"])
    }
}
