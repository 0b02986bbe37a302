// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogVerdict

@testable import WatchdogCapture

/// Siblings: every examination that does not end with a kill, by any command (`EndToEnd/UndisturbedTests`), every call
/// of signal(7), threads that sleep all the time and threads that go to sleep meanwhile, and late stops (`impatient` of
/// `SnapshotTakeTests`).
@Suite("The examination of a process that keeps running", .reapsChildren)
struct UndisturbedTests {
    /// A program that treats EINTR as an error.
    private static func start(_ mode: String) throws -> Subject {
        let folder = "\(#filePath)".split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" }
        let path = "\(folder)/IntegrationTests/Subjects/interruptible.c"
        let source = String(decoding: try bytes(of: path), as: UTF8.self)
        let seconds = String(Int(patience / .seconds(1)))
        let subject = try Subject(
            try Compiler.shared.executable(source, name: "interruptible"), [mode, seconds], environment: ["TMPDIR=/tmp"]
        )
        try subject.waitUntilReady()
        return subject
    }

    private static func threads(of process: Int32) -> [Int32] {
        (try? Snapshot.take(of: process, SnapshotOptions(method: .procfs)).contents().threads.map(\.id)) ?? []
    }

    /// Ends it; returns its verdict on its calls.
    private static func verdict(of subject: Subject) throws -> String {
        try subject.send(1)
        let line = try subject.line()
        _ = try subject.reap()
        return line
    }

    @Test("stops no sleeping thread, and reads the stack of each")
    func sleepers() throws {
        let subject = try Self.start("sleep")
        try subject.waitUntilAsleep()
        for _ in 0..<20 {
            let snapshot = try Snapshot.take(of: subject.process)
            #expect(snapshot.method == .procfsRegisters)
            #expect(snapshot.briefStops.count == 0)
            let contents = try snapshot.contents()
            #expect(contents.threads.count > 30)
            #expect(
                contents.threads.allSatisfy { $0.registerSource == .syscallFile && $0.stack?.bytes.isEmpty == false })
        }
        #expect(try Self.verdict(of: subject) == "0 interrupted")
    }

    /// How often each thread has gone to sleep or lost its CPU: proc_pid_status(5).
    private static func switches(of subject: Subject) throws -> [Int32: [String]] {
        var switches: [Int32: [String]] = [:]
        for thread in threads(of: subject.process) {
            let path = "/proc/\(subject.process)/task/\(thread)/status"
            switches[thread] = String(decoding: try bytes(of: path), as: UTF8.self).split(separator: "\n")
                .filter { $0.contains("ctxt_switches") }.map(String.init)
        }
        return switches
    }

    @Test(
        "wakes no sleeping thread even for a moment, as any signal, stop or continue would",
        arguments: [CapturedProcess.Method.procfs, .procfsRegisters, nil])
    func unwoken(method: CapturedProcess.Method?) throws {
        let subject = try Self.start("sleep")
        try subject.waitUntilAsleep()
        let before = try Self.switches(of: subject)
        for _ in 0..<20 { _ = try Snapshot.take(of: subject.process, SnapshotOptions(method: method)) }
        #expect(before.count > 30 && before.values.allSatisfy { $0.count == 2 })
        #expect(try Self.switches(of: subject) == before)
        #expect(try Self.verdict(of: subject) == "0 interrupted")
    }

    @Test("can detect a stop for a stack by the same measure")
    func woken() throws {
        let subject = try Self.start("sleep")
        try subject.waitUntilAsleep()
        let before = try Self.switches(of: subject)
        _ = try Snapshot.take(of: subject.process, .patient)
        let after = try Self.switches(of: subject)
        #expect(before.keys.allSatisfy { before[$0] != after[$0] })
    }

    @Test("lets a call be restarted that a thread enters when it is stopped")
    func entering() throws {
        let subject = try Self.start("enter")
        // Until some threads were on a CPU, and then as often again: a call must have been entered meanwhile.
        let stops = Mutex(0)
        let areStopped = try eventually {
            for _ in 0..<50 {
                let snapshot = try Snapshot.take(of: subject.process)
                stops.withLock { $0 += snapshot.briefStops.count }
            }
            return stops.withLock { $0 } > 200
        }
        #expect(areStopped)
        let sampling = try Sampling.take(
            of: subject.process, SamplingOptions(interval: .milliseconds(1), duration: .milliseconds(500)))
        #expect(sampling.sampleCount > 0)
        #expect(try Self.verdict(of: subject) == "0 interrupted")
    }

    @Test("stops a thread on a CPU for its stack, and leaves it unchanged")
    func runner() throws {
        let subject = try Subject("spin")
        let marker = try #require(subject.markers.first)
        let isRead = try eventually {
            let snapshot = try Snapshot.take(of: subject.process, SnapshotOptions(stopTimeout: patience))
            let thread = try #require(try snapshot.contents().threads.first)
            guard thread.registerSource == .ptrace else { return false }
            #expect(snapshot.briefStops.count > 0)
            #expect(snapshot.method == .procfsRegisters)
            #expect(snapshot.methodReason == "it runs on")
            #expect(thread.state == "R" && thread.systemCall == "running")
            return thread.stack?.word(at: marker.address) == marker.value
        }
        #expect(isRead)
        #expect(textOfFile("/proc/\(subject.process)/status")?.contains("TracerPid:\t0\n") == true)
        try subject.waitForState("R")
    }

    @Test(
        "reads the stack of a thread on a CPU without stopping it, if the kernel copies it",
        .enabled(if: isPerfPermitted, "perf_event_open(2) is not permitted"))
    func glance() throws {
        let subject = try Subject("spin")
        let marker = try #require(subject.markers.first)
        var options = SnapshotOptions(stopsRunning: false)
        options.glances = true
        let isRead = try eventually {
            let snapshot = try Snapshot.take(of: subject.process, options)
            #expect(snapshot.briefStops.count == 0)
            let thread = try #require(try snapshot.contents().threads.first)
            guard thread.registerSource == .ptrace else { return false }
            #expect(thread.state == "R" && thread.systemCall == "running")
            return thread.stack?.word(at: marker.address) == marker.value
        }
        #expect(isRead)
        options.glances = false
        let none = try Snapshot.take(of: subject.process, options).contents().threads.first
        #expect(none?.registerSource == SnapshotThread.RegisterSource.none)
    }

    @Test("reports why threads on a CPU have no stack if it may not stop them")
    func refused() throws {
        let subject = try Subject("spin")
        let process = subject.process
        let tracer = try Subject("trace", "\(process)")
        let snapshot = try Snapshot.take(of: process)
        #expect(snapshot.briefStops.count == 0)
        #expect(snapshot.methodReason?.contains("process \(tracer.process) is tracing it") == true)
        #expect(try snapshot.contents().threads.first?.registerSource == SnapshotThread.RegisterSource.none)
    }

    @Test("is chosen by whether a kill follows")
    func choice() {
        #expect(SnapshotOptions().method == .procfsRegisters)
        #expect(SnapshotOptions(ending: .kill()).method == .ptrace)
        var options = SnapshotOptions()
        options.ending = .kill()
        #expect(options.method == .ptrace)
        #expect(SnapshotOptions(method: .procfs, ending: .kill()).method == .procfs)
    }
}
