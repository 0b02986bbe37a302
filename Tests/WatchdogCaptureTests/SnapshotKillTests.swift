// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("A snapshot that ends with a kill", .reapsChildren)
struct SnapshotKillTests {
    private let killed: Int32 = 9

    @Test("contains everything, and leaves the exit status to the parent", arguments: [1, 31])
    func kill(threads: Int) throws {
        let subject = try Subject("threads", "\(threads)")
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, SnapshotOptions.patient(ending: .kill()))
        #expect(try subject.reap() == killed)
        #expect(snapshot.end == .killed)
        #expect(snapshot.method == .ptrace)
        let untilKill = try #require(snapshot.timings.untilKill)
        let untilReaped = try #require(snapshot.timings.untilReaped)
        #expect(untilKill > .zero && untilKill <= untilReaped && untilReaped <= snapshot.timings.total)
        let contents = try snapshot.contents()
        #expect(contents.threads.count == threads)
        for marker in subject.markers {
            let thread = contents.threads.first { $0.id == marker.thread }
            #expect(thread?.stack?.word(at: marker.address) == marker.value)
        }
        #expect(contents.modules.contains { $0.descriptor != nil })
    }

    @Test("lets another thread of the parent wait for the process meanwhile")
    func waiter() throws {
        for _ in 0..<10 {
            let subject = try Subject("threads", "12")
            let process = subject.process
            let waiter = Waiter(process)
            _ = try Snapshot.take(of: process, SnapshotOptions.patient(ending: .kill()))
            subject.leaveReaping()
            let result = try waiter.result()
            #expect(result == Waiter.Result(process: process, code: Int32(CLD_KILLED), status: SIGKILL))
        }
    }

    @Test("A snapshot of a foreign child leaves the status to its own parent")
    func grandchild() throws {
        let program = try Compiler.shared.executable(subjectSource)
        let shell = try Subject(
            "/bin/sh", ["-c", "exec 3<&0 2>/dev/null; '\(program)' threads 5 <&3 & wait $!; echo status $?"])
        try shell.waitUntilReady()
        // The main thread prints its line last, before it is ready.
        let process = try #require(shell.markers.last?.thread)
        let snapshot = try Snapshot.take(of: process, SnapshotOptions.patient(ending: .kill()))
        #expect(snapshot.end == .killed)
        #expect(snapshot.threadCount == 5)
        #expect(try shell.line() == "status 137")
    }

    @Test("kills the parent of a vfork")
    func vforkParent() throws {
        let subject = try Subject("vfork")
        try subject.waitForVfork()
        let snapshot = try Snapshot.take(of: subject.process, SnapshotOptions.patient(ending: .kill()))
        #expect(snapshot.end == .killed)
        #expect(try subject.reap() == killed)
        #expect(try snapshot.contents().threads.first?.stack != nil)
    }

    @Test("kills a process that is stopped, spinning, or without its main thread", arguments: ["T", "R", "Z"])
    func states(state: String) throws {
        let subject = try Subject(state == "R" ? "spin" : state == "Z" ? "leader-exits" : "read")
        if state == "T" { Glibc.kill(subject.process, SIGSTOP) }
        try subject.waitForState(state)
        let snapshot = try Snapshot.take(of: subject.process, SnapshotOptions.patient(ending: .kill()))
        #expect(try subject.reap() == killed)
        #expect(snapshot.method == .ptrace)
    }

    @Test("kills even without permission to read")
    func blind() throws {
        let subject = try Subject("non-dumpable")
        try subject.waitForState("S")
        let process = subject.process
        let snapshot = try withoutCapabilities {
            try Snapshot.take(of: process, SnapshotOptions.patient(ending: .kill()))
        }
        #expect(snapshot.method == .procfs)
        #expect(snapshot.end == .killed)
        #expect(try subject.reap() == killed)
    }

    @Test("kills the process group too")
    func group() throws {
        let program = try Compiler.shared.executable(subjectSource)
        let leader = try Subject(
            "/bin/sh", ["-c", "exec 3<&0 2>/dev/null; '\(program)' read <&3 & wait"], inNewGroup: true)
        try leader.waitUntilReady()
        let child = try #require(leader.markers.first?.thread)
        let options = SnapshotOptions.patient(ending: .kill(processGroup: leader.process))
        _ = try Snapshot.take(of: leader.process, options)
        #expect(try leader.reap() == killed)
        try eventually("the child's end") {
            guard let text = textOfFile("/proc/\(child)/stat") else { return true }
            return text.contains(") Z ") || text.contains(") X ")
        }
    }

    @Test("writes to the descriptor of cgroup.kill, and reports a failure")
    func controlGroup() throws {
        let subject = try Subject("read")
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let snapshot = try Snapshot.take(
            of: subject.process, SnapshotOptions.patient(ending: .kill(controlGroup: file)))
        #expect(snapshot.end == .killFailed(Errno(rawValue: EBADF)))
        #expect(try subject.reap() == killed)
    }

    @Test(
        "waits for a CPU on which the threads can stop, but not forever",
        .enabled(if: ThrottledGroup.isPossible, "requires root and the cpu controller of cgroup v1"),
        arguments: [true, false])
    func withoutCPU(isLifted: Bool) throws {
        let group = try ThrottledGroup()
        let subject = try Subject("spin")
        let id = subject.process
        try group.throttle(id)
        let lifter = ThreadWithResult<Instant?> {
            guard isLifted else { return nil }
            try? eventually("a tracer") { textOfFile("/proc/\(id)/status")?.contains("TracerPid:\t0\n") == false }
            try? group.lift()
            return .now()
        }
        let options = SnapshotOptions(ending: .kill(), stopTimeout: .milliseconds(1))
        let before = textOfFile("/proc/\(id)/schedstat")
        let began = Instant.now()
        let snapshot = try Snapshot.take(of: id, options)
        // A virtual machine may lose its CPUs, which may also have ended the throttling.
        let hasRun = textOfFile("/proc/\(id)/schedstat") != before
        // The lifter itself may wait for a CPU for longer than the capture waits.
        let isLiftedInTime = try lifter.result().map { $0 - began < .milliseconds(150) } ?? false
        let thread = try #require(try snapshot.contents().threads.first)
        let isStopped = thread.registerSource == .ptrace
        #expect(isStopped ? hasRun : !isLiftedInTime)
        let reason = "no thread stopped in time: the main thread got no CPU; no thread shows where it is blocked"
        #expect(snapshot.methodReason == (isStopped ? nil : reason))
        try group.lift()
        #expect(try subject.reap() == killed)
    }
}

/// A thread that waits for a child like the supervisor's loop.
private final class Waiter {
    struct Result: Equatable {
        var process: Int32
        var code: Int32
        var status: Int32
    }

    private let worker: ThreadWithResult<Result>

    init(_ process: Int32) {
        worker = ThreadWithResult {
            var information = siginfo_t()
            // The kernel reports the stops of a child that a thread of this process traces, whatever the options.
            repeat {
                guard waitid(P_PID, id_t(process), &information, Int32(WEXITED)) == 0 else {
                    return Result(process: -1, code: errno, status: 0)
                }
            } while information.si_code == Int32(CLD_TRAPPED)
            let child = information._sifields._sigchld
            return Result(process: child.si_pid, code: information.si_code, status: child.si_status)
        }
    }

    func result() throws -> Result {
        try worker.result()
    }
}
