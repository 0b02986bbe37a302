// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// A loop with a launcher, and what became of its launches.
private final class LaunchBench {
    let loop: EventLoop
    let process: LauncherProcess
    let launcher: Launcher
    private(set) var ends: [Int: Result<SpawnedProcess, SpawnError>] = [:]
    private(set) var count = 0

    init() throws {
        loop = try EventLoop()
        process = try LauncherProcess(precedence: false)
        launcher = try Launcher(process, precedence: false, on: loop)
    }

    /// Reaps what is left: Swift Testing waits for any child that has ended, and a zombie hides all others from it.
    deinit {
        _ = try? serve { launcher.children.isEmpty }
        for launcher in [process, launcher.process].compactMap(\.self) {
            try? launcher.process.send(SIGKILL)
            _ = try? waitForExit(launcher.process)
        }
    }

    @discardableResult
    func launch(_ request: SpawnRequest, onHeld: ((HeldProcess) -> Void)? = nil) -> PendingLaunch {
        let number = count
        count += 1
        return launcher.launch(request, onHeld: onHeld) { [unowned self] in
            #expect(ends.updateValue($0, forKey: number) == nil)
        }
    }

    /// Serves the loop until a condition holds; false when patience is at its end.
    func serve(until condition: () -> Bool) throws -> Bool {
        let end = Instant.now() + patience
        while !condition() {
            guard Instant.now() < end else { return false }
            _ = try loop.runOnce(limit: .milliseconds(50))
        }
        return true
    }

    /// Serves the loop until every launch has ended, and returns the ends in the order of the launches.
    func finish() throws -> [Result<SpawnedProcess, SpawnError>] {
        try #require(try serve { ends.count == count })
        return (0..<count).compactMap { ends[$0] }
    }

    /// The error of a launch, which must fail.
    func failure(_ request: SpawnRequest) throws -> SpawnError {
        launch(request)
        switch try #require(try finish().last) {
        case .success(let process):
            _ = try waitForExit(process.process)
            throw LinuxError("fail", .invalidArgument)
        case .failure(let error):
            return error
        }
    }
}

/// An object that another one observes.
private final class Captured {
    private(set) weak var other: Captured?

    init(in observer: Captured? = nil) { observer?.other = self }
}

private func descriptorCount() throws -> Int {
    Int(try run(shell("ls /proc/$PPID/fd | wc -l")).output.filter(\.isNumber)) ?? 0
}

/// What programs have written to a pipe, a number a line.
private func numbers(in pipe: OwnedDescriptor) -> [Int] {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let length = read(pipe.number, &buffer, buffer.count)
    let lines = buffer.prefix(max(length, 0)).split(separator: UInt8(ascii: "\n"))
    return lines.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
}

@Suite("A launcher", .serialized)
struct LauncherTests {
    @Test("starts a program without waiting; its descriptors may be closed at once")
    func launches() throws {
        let bench = try LaunchBench()
        let output: OwnedDescriptor
        do {
            let pipe = try OwnedDescriptor.pipe()
            output = pipe.read
            var request = shell("echo $PPID")
            request.descriptors[1].source = pipe.write.number
            bench.launch(request)
        }
        #expect(bench.ends.isEmpty)
        let process = try #require(try bench.finish().first).get()
        #expect(readToEnd(output) == "\(getpid())\n")
        #expect(try waitForExit(process.process)?.status == .exited(code: 0))
        #expect(bench.launcher.children.isEmpty)
    }

    @Test("five hundred launches at once all run, each once")
    func manyAtOnce() throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        for number in 0..<500 {
            var request = shell("echo \(number)")
            request.launchLimit = patience
            request.descriptors[1].source = output.write.number
            bench.launch(request)
        }
        let ends = try bench.finish()
        for end in ends { #expect(try waitForExit(try end.get().process)?.status == .exited(code: 0)) }
        #expect(numbers(in: output.read).sorted() == Array(0..<500))
    }

    @Test("a held process takes its first step only after its owner has seen it")
    func held() throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        var request = shell("echo 1")
        request.descriptors[1].source = output.write.number
        var seen: HeldProcess?
        bench.launch(request) { process in
            seen = process
            // Still the launcher's copy: neither its session nor its program has changed.
            #expect(getsid(process.pid) == getsid(0))
            #expect(SymbolicLink.target("/proc/\(process.pid)/exe") == SymbolicLink.target("/proc/self/exe"))
            var end = pollfd(fd: process.execution.number, events: 0, revents: 0)
            #expect(poll(&end, 1, 0) == 0)
        }
        let process = try #require(try bench.finish().first).get()
        #expect(seen?.pid == process.pid)
        var end = pollfd(fd: try #require(seen).execution.number, events: 0, revents: 0)
        #expect(poll(&end, 1, Int32(patience / .milliseconds(1))) == 1)
        #expect(try waitForExit(process.process)?.status == .exited(code: 0))
        #expect(numbers(in: output.read) == [1])
    }

    @Test("two hundred held launches at once all run, each once")
    func manyHeld() throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        var seen: Set<Int32> = []
        for number in 0..<200 {
            var request = shell("echo \(number)")
            request.launchLimit = patience
            request.descriptors[1].source = output.write.number
            bench.launch(request) { seen.insert($0.pid) }
        }
        let processes = try bench.finish().map { try $0.get() }
        for process in processes { #expect(try waitForExit(process.process)?.status == .exited(code: 0)) }
        #expect(seen == Set(processes.map(\.pid)))
        #expect(numbers(in: output.read).sorted() == Array(0..<200))
    }

    @Test("a held process whose launch is canceled exits without a step")
    func canceledWhileHeld() throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        var request = shell("echo 1")
        request.descriptors[1].source = output.write.number
        var isSeen = false
        var pending: PendingLaunch?
        let captured = Captured()
        pending = bench.launcher.launch(request) { [owned = Captured(in: captured)] _ in
            withExtendedLifetime(owned) { isSeen = true }
            pending?.cancel()
        } onEnd: { _ in
            Issue.record("a canceled launch has no end")
        }
        #expect(try bench.serve { isSeen && bench.launcher.children.isEmpty })
        // The callback owns the launch, so the launch must not own the callback any longer.
        #expect(captured.other == nil)
        var entry = pollfd(fd: output.read.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 0) == 0)
    }

    @Test("a launcher that is killed is replaced, and no program is lost or runs twice", arguments: [false, true])
    func killedInTheMiddle(isHeld: Bool) async {
        // In a process of its own: nobody reaps the child of a launch that was given up before its process was known.
        await #expect(processExitsWith: .success) { [isHeld] in
            let bench = try LaunchBench()
            let output = try OwnedDescriptor.pipe()
            for number in 0..<200 {
                if number % 100 == 50 { try bench.launcher.process?.process.send(SIGKILL) }
                var request = shell("echo \(number)")
                request.launchLimit = patience
                request.descriptors[1].source = output.write.number
                bench.launch(request, onHeld: isHeld ? { _ in } : nil)
            }
            let ends = try bench.finish()
            for end in ends { #expect(try waitForExit(try end.get().process)?.status == .exited(code: 0)) }
            #expect(numbers(in: output.read).sorted() == Array(0..<200))
        }
    }

    @Test("a program that has ended and was reaped by another thread is held nevertheless")
    func reapedElsewhere() async {
        // In a process of its own: the thread reaps every child.
        await #expect(processExitsWith: .success) {
            _ = try WorkerThread.start { while true { if waitpid(-1, nil, 0) < 0 { poll(nil, 0, 1) } } }
            for _ in 0..<300 {
                let process = try spawn(SpawnRequest(executable: "/bin/true", arguments: ["true"])).process
                #expect(waitReadable(process.descriptor))
            }
        }
    }

    @Test("a launcher that is stopped is replaced when a launch takes too long, and later launches work")
    func stoppedLauncher() async {
        // In a process of its own: nobody reaps the child of a launch that was given up before its process was known.
        await #expect(processExitsWith: .success) {
            let bench = try LaunchBench()
            try bench.process.process.send(SIGSTOP)
            var request = shell("exit 0")
            request.launchLimit = .milliseconds(200)
            bench.launch(request)
            request.launchLimit = .seconds(20)
            bench.launch(request)
            let ends = try bench.finish()
            let error = #expect(throws: SpawnError.self) { _ = try ends[0].get() }
            #expect(error?.stage == .clone && error?.errno == .timedOut)
            #expect(try waitForExit(try ends[1].get().process)?.status == .exited(code: 0))
            #expect(try bench.serve { bench.process.process.hasExited })
        }
    }

    @Test("a launcher ends when its supervisor's end of the socket is closed")
    func endsByItself() throws {
        let process = try LauncherProcess(precedence: false).process
        #expect(waitReadable(process.descriptor))
        #expect(try process.waitExit()?.status == .exited(code: 0))
    }

    @Test("a launcher has no memory of the supervisor but code, takes no signals, and is named")
    func launcherProcess() throws {
        let bench = try LaunchBench()
        bench.launch(shell("exit 0"))
        _ = try waitForExit(try #require(try bench.finish().first).get().process)
        let pid = bench.process.process.pid
        let maps = String(decoding: Procfs.read("/proc/\(pid)/maps", limit: 1 << 20) ?? [], as: UTF8.self)
        let own = try #require(ProcessFacts.executable(getpid()))
        let lines = maps.split(separator: "\n")
        #expect(!lines.isEmpty)
        #expect(lines.allSatisfy { !$0.contains("[heap]") && !$0.contains("libc") })
        // The stack is all that can be written.
        #expect(lines.filter { $0.contains(" rw") }.count == 1)
        #expect(lines.filter { $0.contains("r-x") && $0.hasSuffix(own) }.count >= 1)
        let status = String(decoding: Procfs.read("/proc/\(pid)/status", limit: 1 << 16) ?? [], as: UTF8.self)
        #expect(status.contains("Name:\twd-launcher\n"))
        #expect(status.contains("SigBlk:\tfffffffffffbfeff\n"))
    }

    @Test("each failing step leaves no process and no descriptor")
    func failures() async {
        // In a process of its own: other tests open and close descriptors of this one.
        await #expect(processExitsWith: .success) {
            let bench = try LaunchBench()
            let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
            var failing: [(SpawnError.Stage, (inout SpawnRequest) -> Void)] = [
                (.directory, { $0.workingDirectory = "/nowhere" }),
                (.execute, { $0.executable = "/nowhere" }),
                (.execute, { $0.arguments.append(ByteString(String(repeating: "x", count: 200_000))) }),
                (.oomScore, { $0.oomScoreAdjustment = 5000 }),
                (.foreground, { $0.session = .newProcessGroup(foregroundOf: null.number) }),
                (.descriptor, { $0.descriptors.append(.init(1_000_000, as: 7)) }),
                (.descriptor, { $0.descriptors.append(.init(null.number, as: 100_000_000)) }),
                (.limit, { $0.limits = [ResourceLimit(.openFiles, soft: .max, hard: .max)] }),
            ]
            if getuid() != 0 { failing.append((.groups, { $0.credentials = Credentials(user: 0, group: 0) })) }
            _ = try bench.failure(SpawnRequest(executable: "/nowhere", arguments: ["x"]))
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            // The first count starts what counts.
            _ = try descriptorCount()
            let before = try descriptorCount()
            for (stage, change) in failing {
                var request = shell("exit 0")
                change(&request)
                #expect(try bench.failure(request).stage == stage)
            }
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            #expect(try eventually { try descriptorCount() <= before })
        }
    }

    @Test("a limit on file sizes keeps no program from running, and no failing step from being named")
    func fileSizeLimit() async {
        // In a process of its own: the limit is the whole process's.
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try ResourceLimit(.fileSize, soft: 512, hard: 512).apply()
            let long = Array(repeating: String(repeating: "x", count: 1_000), count: 100)
            let output = try run(SpawnRequest(executable: "/usr/bin/printf", arguments: ["printf", "%s"] + long)).output
            #expect(output == long.joined())
            var request = shell("exit 0")
            request.workingDirectory = "/nowhere"
            let directory = #expect(throws: SpawnError.self) { _ = try spawn(request) }
            #expect(directory?.stage == .directory && directory?.errno == .noSuchFile)
            request = SpawnRequest(executable: "/nowhere", arguments: ["x"])
            let execute = #expect(throws: SpawnError.self) { _ = try spawn(request) }
            #expect(execute?.stage == .execute && execute?.errno == .noSuchFile)
            request.arguments += Array(repeating: ByteString(long[0]), count: 64 << 10)
            let size = #expect(throws: SpawnError.self) { _ = try spawn(request) }
            #expect(size?.stage == .clone)
        }
    }

    @Test("a launch that is cancelled does not end, and its program does not run")
    func cancelled() async {
        // In a process of its own: nobody reaps the child of a launch that was given up before its process was known.
        await #expect(processExitsWith: .success) {
            let bench = try LaunchBench()
            let output: OwnedDescriptor
            do {
                let pipe = try OwnedDescriptor.pipe()
                output = pipe.read
                var request = shell("exec sleep 1000")
                request.descriptors[1].source = pipe.write.number
                let launches = (0..<20).map { _ in bench.launch(request) }
                // Some have begun meanwhile, some have not.
                _ = try bench.loop.runOnce(limit: .milliseconds(1))
                for launch in launches { launch.cancel() }
            }
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            for end in bench.ends.values {
                let process = try end.get().process
                try process.send(SIGKILL)
                _ = try waitForExit(process)
            }
            // Nobody has the pipe any more.
            #expect(readToEnd(output).isEmpty)
            bench.launch(shell("exit 0"))
            #expect(try bench.serve { bench.ends[20] != nil })
            _ = try waitForExit(try #require(bench.ends[20]).get().process)
        }
    }

    @Test("a child that is stopped before it executes is killed after the limit, and delays nothing else")
    func stoppedChild() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/held"
            try writeProgram("#!/bin/sh\n", to: path)
            // Executing a file opens it for reading; a lease holder delays that until it gives the lease up.
            let holder = try OwnedDescriptor(opening: path, flags: O_RDONLY)
            ignoreLeaseBreaks()
            let setLease: Int32 = 1024  // F_SETLEASE
            guard fcntl(holder.number, setLease, F_WRLCK) == 0 else { return print("not tested: no leases") }
            let bench = try LaunchBench()
            var request = SpawnRequest(executable: ByteString(path), arguments: ["held"])
            // Long enough for the other launch on a busy machine.
            request.launchLimit = .seconds(5)
            bench.launch(request)
            var child: Int32 = 0
            #expect(
                try bench.serve {
                    child = bench.launcher.children.first { ProcessStat.read($0)?.state == .sleeping } ?? 0
                    return child != 0
                })
            kill(child, SIGSTOP)
            #expect(eventually { ProcessStat.read(child)?.state == .stopped })
            _ = fcntl(holder.number, setLease, F_UNLCK)

            bench.launch(shell("exit 0"))
            #expect(try bench.serve { bench.ends[1] != nil })
            #expect(bench.ends[0] == nil)
            _ = try waitForExit(try #require(bench.ends[1]).get().process)

            let error = #expect(throws: SpawnError.self) { _ = try bench.finish()[0].get() }
            #expect(error?.stage == .execute && error?.errno == .timedOut)
            #expect(try bench.serve { bench.launcher.children.isEmpty && ProcessStat.read(child) == nil })
        }
    }

    @Test("a launch that is held for less than the limit succeeds")
    func heldForLess() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/held"
            try writeProgram("#!/bin/sh\n", to: path)
            let holder = try OwnedDescriptor(opening: path, flags: O_RDONLY)
            ignoreLeaseBreaks()
            let setLease: Int32 = 1024  // F_SETLEASE
            guard fcntl(holder.number, setLease, F_WRLCK) == 0 else { return print("not tested: no leases") }
            let bench = try LaunchBench()
            bench.launch(SpawnRequest(executable: ByteString(path), arguments: ["held"]))
            #expect(
                try bench.serve {
                    bench.launcher.children.contains { ProcessStat.read($0)?.state == .sleeping }
                })
            #expect(bench.ends.isEmpty)
            _ = fcntl(holder.number, setLease, F_UNLCK)
            let process = try #require(try bench.finish().first).get().process
            #expect(try waitForExit(process)?.status == .exited(code: 0))
        }
    }

    @Test("a file system that never answers holds one launch, not others", arguments: ["access", "lookup"])
    func silentFileSystem(operation: String) throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: operation) else { return }
        let bench = try LaunchBench()
        var request = shell("exit 0")
        request.credentials = Credentials(user: 65534, group: 65534)
        if operation == "access" {
            request.workingDirectory = ByteString(fileSystem.directory)
        } else {
            request.executable = ByteString(fileSystem.file)
        }
        // Long enough for the other launches on a busy machine.
        request.launchLimit = .seconds(4)
        bench.launch(request)
        for _ in 0..<10 { bench.launch(shell("exit 0")) }
        #expect(try bench.serve { bench.ends.count >= 10 })
        #expect(bench.ends[0] == nil)
        let ends = try bench.finish()
        let error = #expect(throws: SpawnError.self) { _ = try ends[0].get() }
        #expect(error?.stage == (operation == "access" ? .directory : .execute))
        #expect(error?.errno == .timedOut)
        for end in ends.dropFirst() { #expect(try waitForExit(try end.get().process)?.status == .exited(code: 0)) }
        // The kernel lets the killed child go when the server does.
        #expect(!bench.launcher.children.isEmpty)
        fileSystem.end()
        #expect(try bench.serve { bench.launcher.children.isEmpty })
    }

    @Test("the program's user can neither read, write nor trace what runs before the program")
    func attack() throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "access") else { return }
        let bench = try LaunchBench()
        let nobody = Credentials(user: 65534, group: 65534)
        var request = shell("exit 0")
        request.credentials = nobody
        request.workingDirectory = ByteString(fileSystem.directory)
        bench.launch(request)
        var child: Int32 = 0
        #expect(
            try bench.serve {
                child = bench.launcher.children.first { ProcessStatus.read($0)?.user == 65534 } ?? 0
                return child != 0
            })
        var victim = shell("exec sleep 100")
        victim.credentials = nobody
        let control = try spawn(victim)
        defer {
            try? control.process.send(SIGKILL)
            _ = try? waitForExit(control.process)
        }
        let script = """
            import ctypes, sys
            libc = ctypes.CDLL(None, use_errno=True)
            for pid in sys.argv[1:]:
                got = ''
                for name in ['mem', 'environ', 'maps', 'auxv']:
                    try: open('/proc/%s/%s' % (pid, name), 'rb').read(0 if name == 'mem' else 1); got += name + ' '
                    except OSError: pass
                try: open('/proc/%s/mem' % pid, 'r+b'); got += 'write '
                except OSError: pass
                if libc.ptrace(0x4206, int(pid), None, None) == 0: got += 'trace '
                print(got.strip())
            """
        var attacker = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", script])
        attacker.arguments += [child, bench.process.process.pid, control.pid].map { ByteString("\($0)") }
        attacker.credentials = nobody
        let lines = try run(attacker).output.split(separator: "\n", omittingEmptySubsequences: false)
        // The control shows that the attacks work where they may.
        #expect(lines.prefix(3) == ["", "", "mem environ maps auxv write trace"])
        fileSystem.end()
        _ = try bench.finish()
    }
}
