// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("A snapshot of a real process", .reapsChildren)
struct SnapshotTakeTests {
    /// Checks that every marker is at its address in the stack of its thread.
    private func expectMarkers(_ subject: Subject, in contents: SnapshotContents) {
        for marker in subject.markers {
            let thread = contents.threads.first { $0.id == marker.thread }
            #expect(thread?.stack?.word(at: marker.address) == marker.value, "thread \(marker.thread)")
        }
    }

    @Test("contains the registers and stack of a thread blocked in read")
    func blockedInRead() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let contents = try snapshot.contents()
        #expect(snapshot.method == .ptrace)
        #expect(snapshot.methodReason == nil)
        #expect(snapshot.end == .untouched)
        #expect(snapshot.timings.frozen > .zero)
        #expect(snapshot.timings.untilKill == nil)
        #expect(contents.threads.count == 1)
        expectMarkers(subject, in: contents)
        let thread = try #require(contents.threads.first)
        #expect(thread.id == subject.process)
        #expect(thread.name == "subject")
        #expect(thread.state == "S")
        #expect(thread.registerSource == .ptrace)
        #expect(thread.systemCall.hasPrefix("0 0x0 "), "read(2) is number 0, of descriptor 0")
        let pointer = try #require(thread[.rsp])
        let stack = try #require(contents.mapping(at: pointer))
        #expect(stack.path == "[stack]")
        #expect(thread.stack.map { pointer - $0.address } ?? 0 >= 128)
        let code = try #require(thread[.rip].flatMap { contents.mapping(at: $0) })
        #expect(code.isExecutable && code.path.contains("libc.so"))
        #expect(try subject.echo(7) == [7])
    }

    @Test("contains neither the arguments nor the environment")
    func surroundings() throws {
        let program = try Compiler.shared.executable(subjectSource)
        let subject = try Subject(program, ["read", "argument-7c1e"], environment: ["PASSWORD=secret-7c1e"])
        try subject.waitUntilReady()
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        expectMarkers(subject, in: try snapshot.contents())
        let text = String(decoding: try bytes(of: snapshot.memory), as: UTF8.self)
        #expect(text.contains("[stack]"))
        #expect(!text.contains("secret-7c1e") && !text.contains("argument-7c1e"))
    }

    @Test("names its process")
    func processFacts() throws {
        let subject = try Subject("read")
        let contents = try Snapshot.take(of: subject.process, .patient).contents()
        let fields = try #require(textOfFile("/proc/\(subject.process)/stat")).split(separator: " ")
        #expect(contents.process.id == subject.process)
        #expect(contents.process.parent == getpid())
        #expect(contents.process.user == getuid())
        #expect(contents.process.name == "subject")
        #expect(contents.process.executable.hasSuffix("/subject"))
        #expect(contents.process.architecture == "x86-64")
        #expect(contents.process.startTime == UInt64(fields[21]))
        #expect(contents.process.tracer == nil)
        #expect(contents.process.truncation == nil)
        #expect(contents.process.capturedAt <= .now())
        let vdso = try #require(contents.vdso)
        #expect(vdso.bytes.starts(with: [0x7F] + Array("ELF".utf8)))
        #expect(String(decoding: contents.mapsText, as: UTF8.self).contains("[vdso]"))
    }

    @Test("contains all 31 threads, the main thread first")
    func manyThreads() throws {
        let subject = try Subject("threads", "31")
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let contents = try snapshot.contents()
        #expect(snapshot.threadCount == 31)
        #expect(contents.threads.map(\.id).first == subject.process)
        #expect(contents.threads.map(\.id) == contents.threads.map(\.id).sorted())
        #expect(contents.threads.allSatisfy { $0.registerSource == .ptrace })
        #expect(subject.markers.count == 31)
        expectMarkers(subject, in: contents)
        #expect(try subject.echo(1) == [1])
    }

    @Test("stops 31 threads for about a millisecond at most")
    func frozenTime() throws {
        let subject = try Subject("threads", "31")
        // One snapshot suffices: the others may have waited for a CPU that other tests use.
        let isShort = try (0..<1_000).contains { _ in
            try Snapshot.take(of: subject.process, .patient).timings.frozen < .milliseconds(3)
        }
        #expect(isShort)
    }

    @Test("A process with too many mappings keeps those that a stack leads through")
    func manyMappings() throws {
        // Each of 5,000 lines contains the whole path.
        var folders = [try temporaryDirectory()]
        for _ in 0..<7 { folders.append("\(folders[folders.count - 1])/\(String(repeating: "x", count: 250))") }
        for folder in folders.dropFirst() { try #require(mkdir(folder, 0o700) == 0) }
        let path = "\(folders[folders.count - 1])/file"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
            for folder in folders.dropFirst().reversed() { rmdir(folder) }
        }
        try #require(ftruncate(file, 4096) == 0)
        let subject = try Subject("maps", path)
        try subject.waitForState("S")
        let contents = try Snapshot.take(of: subject.process, .patient).contents()
        expectMarkers(subject, in: contents)
        let thread = try #require(contents.threads.first)
        #expect(thread[.rsp].flatMap { contents.mapping(at: $0) }?.path == "[stack]")
        let code = try #require(thread[.rip].flatMap { contents.mapping(at: $0) })
        #expect(code.isExecutable && code.path.contains("libc.so"))
        let image = contents.mappings.filter { $0.inode == code.inode }
        #expect(image.first?.offset == 0 && image.count >= 4, "from its head to its data")
        #expect(contents.modules.contains { $0.path == code.path })
        #expect(contents.process.truncation == "some mappings without code")
        #expect((7 << 20..<8 << 20).contains(contents.mapsText.count))
    }

    @Test("leaves the process unharmed, however often it is taken")
    func repeated() throws {
        let subject = try Subject("threads", "8")
        for byte in UInt8(0)..<50 {
            _ = try Snapshot.take(of: subject.process, .patient)
            #expect(try subject.echo(byte) == [byte])
        }
        #expect(subject.state() != "t")
        #expect(textOfFile("/proc/\(subject.process)/status")?.contains("TracerPid:\t0\n") == true)
    }

    @Test("stops a spinning thread, which continues to spin afterwards")
    func spinning() throws {
        let subject = try Subject("spin")
        let contents = try Snapshot.take(of: subject.process, .patient).contents()
        let thread = try #require(contents.threads.first)
        #expect(thread.registerSource == .ptrace)
        #expect(thread.state == "R")
        expectMarkers(subject, in: contents)
        try subject.waitForState("R")
    }

    @Test("leaves a process stopped that a signal had stopped")
    func stopped() throws {
        let subject = try Subject("threads", "3")
        kill(subject.process, SIGSTOP)
        for thread in subject.markers.map(\.thread) {
            try subject.waitForState("T", of: thread)
        }
        let contents = try Snapshot.take(of: subject.process, .patient).contents()
        #expect(contents.threads.allSatisfy { $0.state == "T" && $0.registerSource == .ptrace })
        expectMarkers(subject, in: contents)
        for thread in subject.markers.map(\.thread) {
            try subject.waitForState("T", of: thread)
        }
        kill(subject.process, SIGCONT)
        #expect(try subject.echo(9) == [9])
    }

    @Test("contains the other threads after the main thread has exited")
    func leaderExited() throws {
        let subject = try Subject("leader-exits")
        try subject.waitForState("Z")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let contents = try snapshot.contents()
        #expect(snapshot.method == .ptrace)
        #expect(contents.threads.count == 2)
        #expect(contents.threads.first?.state == "Z")
        #expect(contents.threads.first?.registerSource == SnapshotThread.RegisterSource.none)
        #expect(!contents.mappings.isEmpty)
        #expect(!contents.modules.isEmpty)
        expectMarkers(subject, in: contents)
        #expect(try subject.echo(3) == [3])
    }

    @Test("A process that another one traces is not stopped")
    func traced() throws {
        let subject = try Subject("threads", "4")
        try subject.waitForState("S")
        let tracer = try Subject("trace", "\(subject.process)")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let contents = try snapshot.contents()
        #expect(contents.process.tracer == tracer.process)
        // Only the main thread is traced.
        let main = try #require(contents.threads.first)
        #expect(main.registerSource == .syscallFile)
        #expect(main[.rip] != nil && main[.rax] == nil)
        expectMarkers(subject, in: contents)
        #expect(try subject.echo(4) == [4])
        #expect(try tracer.echo(4) == [4])
    }

    @Test("A single-threaded traced process is reported as traced")
    func tracedEntirely() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        let tracer = try Subject("trace", "\(subject.process)")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        #expect(snapshot.method == .procfsRegisters)
        #expect(snapshot.methodReason == "process \(tracer.process) is tracing it")
        #expect(snapshot.timings.frozen == .zero)
        expectMarkers(subject, in: try snapshot.contents())
    }

    @Test("waits for the end of an uninterruptible sleep, though not for long")
    func shortSleep() throws {
        let subject = try Subject("vforks")
        for _ in 1...20 {
            let snapshot = try Snapshot.take(of: subject.process, .patient)
            // On a busy machine, the child may keep its parent waiting for longer.
            #expect(snapshot.method == .ptrace || snapshot.timings.frozen >= .milliseconds(20))
        }
    }

    @Test("A snapshot of a vfork parent takes less time than the wait for other threads")
    func vforkParentInTime() throws {
        let subject = try Subject("vfork")
        try subject.waitForVfork()
        #expect(try Snapshot.take(of: subject.process, .patient).timings.total < .seconds(1))
        try subject.send(0)
        #expect(try subject.line() == "returned")
    }

    @Test("A vfork parent, which cannot be stopped, is not awaited and is released")
    func vforkParent() throws {
        let subject = try Subject("vfork")
        try subject.waitForVfork()
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        #expect(snapshot.method == .procfsRegisters)
        #expect(snapshot.methodReason == "no thread stopped in time: the main thread is in uninterruptible sleep")
        let contents = try snapshot.contents()
        #expect(contents.threads.first?.state == "D")
        expectMarkers(subject, in: contents)
        // The end of the capturing thread detached it.
        try eventually("the tracer's end") {
            textOfFile("/proc/\(subject.process)/status")?.contains("TracerPid:\t0\n") == true
        }
        try subject.send(0)
        #expect(try subject.line() == "returned")
    }

    @Test(
        "A thread without a CPU is stopped anyway, and keeps its policy",
        .enabled(if: geteuid() == 0, "real-time priority requires root"))
    func withoutCPU() throws {
        let subject = try Subject("spin")
        let first = "$(awk '/^Cpus_allowed_list/ { split($2, list, /[-,]/); print list[1] }' /proc/self/status)"
        func onFirstCPU(_ command: String) throws -> Subject {
            try Subject(
                "/bin/sh", ["-c", "first=\(first); \(command)"], environment: ["PATH=/usr/bin:/bin:/usr/sbin:/sbin"])
        }
        let crowd = try (0..<2).map { _ in
            try onFirstCPU("exec taskset -c $first sh -c 'echo ready; while :; do :; done'")
        }
        for process in crowd { try process.waitUntilReady() }
        let id = subject.process
        let starving = try onFirstCPU("taskset -acp $first \(id) && chrt -a -i -p 0 \(id) && echo ready")
        while try starving.line() != "ready" {}
        for _ in 0..<10 {
            let snapshot = try Snapshot.take(of: id, .patient)
            let contents = try snapshot.contents()
            #expect(
                contents.threads.allSatisfy { $0.registerSource == .ptrace }, "\(contents.process.truncation ?? "")")
            let fields = textOfFile("/proc/\(id)/stat")?.split(separator: " ") ?? []
            // Field 41 is the policy, proc_pid_stat(5); SCHED_IDLE is 5.
            #expect(fields.count > 40 && fields[40] == "5")
        }
    }

    @Test("loses no signal that arrives meanwhile")
    func signals() throws {
        let subject = try Subject("signals")
        for expected in 1...40 {
            kill(subject.process, SIGUSR1)
            _ = try Snapshot.take(of: subject.process, .patient)
            try eventually("signal \(expected)") {
                (try? subject.send(0)) != nil && (try? subject.line()) == "\(expected)"
            }
        }
    }

    @Test("copes with threads that come and go")
    func threadChurn() throws {
        let subject = try Subject("makes-threads")
        for byte in UInt8(0)..<30 {
            let snapshot = try Snapshot.take(of: subject.process, .patient)
            #expect(snapshot.method == .ptrace, "\(snapshot.methodReason ?? "") \(snapshot.timings)")
            let contents = try snapshot.contents()
            #expect(contents.threads.count >= 2)
            #expect(try subject.echo(byte) == [byte])
        }
    }

    @Test("leaves the process unharmed if its threads do not stop in time")
    func impatient() throws {
        let subject = try Subject("threads", "8")
        for byte in UInt8(0)..<50 {
            let snapshot = try Snapshot.take(of: subject.process, SnapshotOptions(method: .ptrace, stopTimeout: .zero))
            let contents = try snapshot.contents()
            #expect(contents.threads.count == 8)
            for thread in contents.threads where thread.stack != nil {
                let marker = try #require(subject.markers.first { $0.thread == thread.id })
                #expect(thread.stack?.word(at: marker.address) == marker.value)
            }
            #expect(try subject.echo(byte) == [byte])
        }
        try eventually("the tracer's end") {
            textOfFile("/proc/\(subject.process)/status")?.contains("TracerPid:\t0\n") == true
        }
    }

    @Test("survives a process that executes itself repeatedly")
    func executing() throws {
        let subject = try Subject("executes")
        var successes = 0
        for _ in 0..<60 {
            if let snapshot = try? Snapshot.take(of: subject.process, .patient) {
                _ = try snapshot.contents()
                // The thread that has become the leader stops, too: no capture waits until its patience is used up.
                #expect(snapshot.methodReason?.contains("no thread stopped") != true)
                successes += 1
            }
        }
        #expect(successes > 0 || eventually { (try? Snapshot.take(of: subject.process, .patient)) != nil })
        // Between two of its programs, a capture may fail before it kills.
        let isKilled = eventually {
            do throws(SnapshotError) {
                return try Snapshot.take(of: subject.process, .patient(ending: .kill())).end == .killed
            } catch {
                return error.end == .killed
            }
        }
        try #require(isKilled)
        #expect(try subject.reap() == 9)
    }

    @Test("survives a process that dies meanwhile, and leaves its exit status to the parent")
    func dying() throws {
        for attempt in 0..<60 {
            let subject = try Subject("threads", "16")
            let process = subject.process
            let killer = ThreadWithResult {
                usleep(UInt32(attempt * 25))
                return kill(process, SIGKILL)
            }
            do {
                _ = try Snapshot.take(of: process, .patient).contents()
            } catch let error as SnapshotError {
                #expect(error.errno == .noSuchProcess)
            }
            #expect(try killer.result() == 0)
            #expect(try subject.reap() == 9)
        }
    }

    @Test("contains Swift's asynchronous contexts", arguments: ["dynamic", "static", "none"])
    func contexts(kind: String) throws {
        let flags = kind == "static" ? ["-DSWIFT_SECTION"] : []
        let program = try Compiler.shared.executable(subjectSource, flags: flags)
        var arguments = ["task"]
        if kind == "dynamic" {
            let library = try Compiler.shared.executable(
                "int nothing(void) { return 0; }",
                name: "libswift_Concurrency.so",
                flags: ["-shared", "-fPIC"]
            )
            arguments.append(library)
        }
        let subject = try Subject(program, arguments)
        try subject.waitUntilReady()
        try subject.waitForState("S")
        let found = try Snapshot.take(of: subject.process, .patient).contents().asynchronousContexts
        if kind == "none" {
            var status = stat()
            // On a file system without a block device, the program's file is not read.
            if stat(program, &status) == 0, status.st_dev >> 8 != 0 { #expect(found.isEmpty) }
            return
        }
        for context in subject.markers where context.thread == 0 {
            #expect(found.contains { $0.address == context.address && $0.parent == context.value })
        }
        for decoy in subject.markers where decoy.thread == 1 {
            #expect(!found.contains { $0.address == decoy.address })
        }
    }

    @Test("is taken without stopping the process on request")
    func light() throws {
        let subject = try Subject("threads", "6")
        try subject.waitUntilAsleep()
        let snapshot = try Snapshot.take(
            of: subject.process, SnapshotOptions(method: .procfsRegisters, stopsRunning: false))
        let contents = try snapshot.contents()
        #expect(snapshot.method == .procfsRegisters)
        #expect(snapshot.methodReason == "that was asked for")
        #expect(snapshot.timings.frozen == .zero)
        #expect(contents.process.frozen == .zero)
        #expect(contents.threads.allSatisfy { $0.registerSource == .syscallFile })
        expectMarkers(subject, in: contents)
    }

    @Test("A snapshot without stacks contains the facts from /proc")
    func factsOnly() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, SnapshotOptions.patient(method: .procfs))
        let thread = try #require(try snapshot.contents().threads.first)
        #expect(snapshot.method == .procfs)
        #expect(thread.registerSource == .none)
        #expect(thread.stack == nil)
        #expect(thread.state == "S")
        #expect(thread.voluntarySwitches > 0)
    }

    @Test("A non-dumpable process is captured completely for root, and others get the reason")
    func nonDumpable() throws {
        let subject = try Subject("non-dumpable")
        try subject.waitForState("S")
        if geteuid() == 0 {
            let snapshot = try Snapshot.take(of: subject.process, .patient)
            #expect(snapshot.method == .ptrace)
            expectMarkers(subject, in: try snapshot.contents())
            try subject.waitForState("S")
        }
        let process = subject.process
        let snapshot = try withoutCapabilities { try Snapshot.take(of: process, .patient) }
        #expect(snapshot.method == .procfs)
        #expect(snapshot.methodReason?.contains("EPERM") == true)
        let thread = try #require(try snapshot.contents().threads.first)
        #expect(thread.state == "S")
        #expect(thread.name == "subject")
        #expect(try subject.echo(5) == [5])
    }

    @Test("contains descriptors of the mapped files, even of a deleted program, with and without privileges")
    func modules() throws {
        let original = try Compiler.shared.executable(subjectSource)
        let copy = try temporaryDirectory() + "/subject"
        try copyFile(original, to: copy)
        let subject = try Subject(copy, ["read"])
        try subject.waitUntilReady()
        unlink(copy)
        let process = subject.process
        for snapshot in [
            try Snapshot.take(of: process, .patient),
            try withoutCapabilities(keepingPtrace: true) { try Snapshot.take(of: process, .patient) },
        ] {
            let contents = try snapshot.contents()
            let program = try #require(contents.modules.first { $0.path.hasSuffix("/subject (deleted)") })
            let index = try #require(program.descriptor)
            #expect(try bytes(of: snapshot.modules[index]) == bytes(of: original))
            let library = try #require(contents.modules.first { $0.path.contains("libc.so") })
            let descriptor = try #require(library.descriptor)
            #expect(try bytes(of: snapshot.modules[descriptor]).count > 1 << 20)
            #expect(snapshot.modules.allSatisfy { fcntl($0, F_GETFD) == FD_CLOEXEC })
        }
    }

    @Test("can be neither changed nor grown")
    func sealed() throws {
        let subject = try Subject("read")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        var byte: UInt8 = 0
        #expect(pwrite(snapshot.memory, &byte, 1, 0) == -1 && errno == EPERM)
        #expect(ftruncate(snapshot.memory, 0) == -1 && errno == EPERM)
        #expect(fcntl(snapshot.memory, F_GETFD) == FD_CLOEXEC)
    }

    @Test("A process that is gone or has been replaced is rejected")
    func gone() throws {
        let subject = try Subject("read")
        let wrong = SnapshotOptions.patient(startTime: 1, ending: .kill())
        #expect {
            try Snapshot.take(of: subject.process, wrong)
        } throws: { error in
            (error as? SnapshotError)?.errno == .noSuchProcess && (error as? SnapshotError)?.end == .untouched
        }
        #expect(try subject.echo(1) == [1])
        kill(subject.process, SIGKILL)
        try subject.waitForState("Z")
        #expect { try Snapshot.take(of: subject.process, .patient) } throws: {
            ($0 as? SnapshotError)?.errno == .noSuchProcess
        }
        _ = try subject.reap()
        #expect { try Snapshot.take(of: subject.process, .patient) } throws: {
            ($0 as? SnapshotError)?.errno == .noSuchProcess
        }
    }

    @Test("A snapshot of this process is rejected, and nothing is killed")
    func ourselves() {
        let options = SnapshotOptions.patient(ending: .kill())
        #expect { try Snapshot.take(of: getpid(), options) } throws: {
            ($0 as? SnapshotError)?.errno == .invalidArgument
        }
        #expect { try Snapshot.take(of: 0, options) } throws: { ($0 as? SnapshotError)?.errno == .invalidArgument }
        #expect { try Snapshot.take(of: -1, options) } throws: { ($0 as? SnapshotError)?.errno == .invalidArgument }
    }
}
