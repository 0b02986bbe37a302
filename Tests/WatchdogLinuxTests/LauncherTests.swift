// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// An object that holds another one.
private final class Captured {
    private(set) weak var other: Captured?

    init(in observer: Captured? = nil) { observer?.other = self }
}

@Suite("A launcher", .serialized, .reapsChildren)
struct LauncherTests {
    @Test("starts a program without waiting, and its descriptors may be closed immediately")
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

    @Test("five hundred simultaneous launches all run, each once")
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

    @Test("a held process executes its program only after its owner has seen it")
    func held() throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        var request = shell("echo 1")
        request.descriptors[1].source = output.write.number
        var seen: HeldProcess?
        bench.launch(request) { process in
            seen = process
            #expect(SymbolicLink.target("/proc/\(process.pid)/exe") == SymbolicLink.target("/proc/self/exe"))
            var end = pollfd(fd: process.execution.number, events: 0, revents: 0)
            #expect(poll(&end, 1, 0) == 0)
        }
        let process = try #require(try bench.finish().first).get()
        #expect(seen?.pid == process.pid)
        var end = pollfd(fd: try #require(seen).execution.number, events: 0, revents: 0)
        #expect(poll(&end, 1, patienceInMilliseconds) == 1)
        #expect(try waitForExit(process.process)?.status == .exited(code: 0))
        #expect(numbers(in: output.read) == [1])
    }

    @Test("two hundred simultaneous held launches all run, each once")
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

    @Test("a held process whose launch is canceled exits without executing its program")
    func canceledWhileHeld() throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        var request = shell("echo 1")
        request.descriptors[1].source = output.write.number
        var isSeen = false
        var pending: PendingLaunch?
        let captured = Captured()
        pending = bench.launcher.launch(request.patient) { [owned = Captured(in: captured)] _ in
            withExtendedLifetime(owned) { isSeen = true }
            pending?.cancel()
        } onEnd: { _ in
            Issue.record("a canceled launch has no end")
        }
        #expect(try bench.serve { isSeen && bench.launcher.children.isEmpty })
        // The callback owns the launch, so the launch must no longer own the callback.
        #expect(captured.other == nil)
        var entry = pollfd(fd: output.read.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 0) == 0)
    }

    @Test("a held process whose supervisor ends executes its program if it was confirmed", arguments: [false, true])
    func supervisorEnds(isConfirmed: Bool) throws {
        let bench = try LaunchBench()
        let output = try OwnedDescriptor.pipe()
        var request = shell("echo 1")
        request.descriptors[1].source = output.write.number
        var attempt: LaunchAttempt? = try LaunchAttempt(request, isHeld: true)
        #expect(try attempt?.send(to: bench.process) == .sent)
        if isConfirmed { attempt?.confirm() }
        #expect(eventually { attempt?.isAnswered == true })
        let process = try Pidfd(opening: try #require(attempt?.knownProcessID))
        // The supervisor's only copy of its end of the status socket.
        attempt = nil
        #expect(try waitForExit(process)?.status == .exited(code: isConfirmed ? 0 : 127))
        var entry = pollfd(fd: output.read.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 0) == (isConfirmed ? 1 : 0))
    }

    @Test("a held process takes all steps but the last before its owner has seen it")
    func stepsWhileHeld() throws {
        let bench = try LaunchBench()
        var request = shell("exit 0")
        request.session = .newSession
        var session: Int32?
        bench.launch(request) { process in
            #expect(eventually { getsid(process.pid) == process.pid })
            session = getsid(process.pid)
        }
        let process = try #require(try bench.finish().first).get()
        #expect(session == process.pid)
        #expect(try waitForExit(process.process)?.status == .exited(code: 0))
    }

    @Test("a held process that fails before it executes its program is reported, whether or not it was seen")
    func failsWhileHeld() throws {
        let bench = try LaunchBench()
        for _ in 0..<50 {
            var request = shell("exit 0")
            request.workingDirectory = "/nowhere"
            bench.launch(request) { _ in }
        }
        for end in try bench.finish() {
            let error = #expect(throws: SpawnError.self) { _ = try end.get() }
            #expect(error?.stage == .directory && error?.errno == .noSuchFile)
        }
        #expect(try bench.serve { bench.launcher.children.isEmpty })
    }

    @Test("a launcher exits when its supervisor closes the socket")
    func endsByItself() throws {
        let process = try LauncherProcess(precedence: false).process
        #expect(waitReadable(process.descriptor))
        #expect(try process.waitExit()?.status == .exited(code: 0))
    }

    @Test("a launcher shares only code with the supervisor, ignores signals, and has its own name")
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
        // Only the stack is writable.
        #expect(lines.filter { $0.contains(" rw") }.count == 1)
        #expect(lines.filter { $0.contains("r-x") && $0.hasSuffix(own) }.count >= 1)
        let status = String(decoding: Procfs.read("/proc/\(pid)/status", limit: 1 << 16) ?? [], as: UTF8.self)
        #expect(status.contains("Name:\twd-launcher\n"))
        #expect(status.contains("SigBlk:\tfffffffffffbfeff\n"))
    }

    /// The limits for a launch that is held while others run; each one is for a slower machine than the one before.
    ///
    /// The kernel takes a lease from its holder after 45 s.
    private static let limits = [Duration.seconds(4), .seconds(15), .seconds(40)]

    @Test("a child that is stopped before it executes is killed after the limit, and delays nothing else")
    func stoppedChild() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/held"
            try writeProgram("#!/bin/sh\n", to: path)
            // Executing a file opens it for reading, which a lease holder delays until it releases the lease.
            let holder = try OwnedDescriptor(opening: path, flags: O_RDONLY)
            ignoreLeaseBreaks()
            let setLease: Int32 = 1024  // F_SETLEASE
            for limit in Self.limits {
                guard fcntl(holder.number, setLease, F_WRLCK) == 0 else { return print("not tested: no leases") }
                let bench = try LaunchBench()
                var request = SpawnRequest(executable: ByteString(path), arguments: ["held"])
                request.launchLimit = limit
                bench.launch(request)
                var child: Int32?
                let isHeld = try bench.serve {
                    child = bench.launcher.children.first { ProcessStat.read($0)?.state == .sleeping }
                    return child != nil || bench.ends[0] != nil
                }
                #expect(isHeld)
                if let child {
                    kill(child, SIGSTOP)
                    #expect(eventually { ProcessStat.read(child)?.state == .stopped })
                }
                _ = fcntl(holder.number, setLease, F_UNLCK)

                bench.launch(shell("exit 0"))
                #expect(try bench.serve { bench.ends[1] != nil })
                let isFirst = bench.ends[0] == nil
                _ = try waitForExit(try #require(bench.ends[1]).get().process)

                let error = #expect(throws: SpawnError.self) { _ = try bench.finish()[0].get() }
                #expect(error?.errno == .timedOut)
                #expect(try bench.serve { bench.launcher.children.isEmpty })
                guard let child, isFirst else { continue }
                #expect(error?.stage == .execute)
                #expect(ProcessStat.read(child) == nil)
                return
            }
            Issue.record("the other launch ended after the one that is held, whatever the limit")
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

    @Test("a file system that never answers blocks one launch, but not others", arguments: ["access", "lookup"])
    func silentFileSystem(operation: String) throws {
        for limit in Self.limits {
            guard let fileSystem = try SilentFileSystem(withoutAnswerTo: operation) else { return }
            let bench = try LaunchBench()
            var request = shell("exit 0")
            request.credentials = Credentials(user: 65534, group: 65534)
            if operation == "access" {
                request.workingDirectory = ByteString(fileSystem.directory)
            } else {
                request.executable = ByteString(fileSystem.file)
            }
            request.launchLimit = limit
            bench.launch(request)
            // Before the server has read the request, the kernel would release a killed child.
            #expect(try bench.serve { fileSystem.isSilent || bench.ends[0] != nil })
            for _ in 0..<10 { bench.launch(shell("exit 0")) }
            #expect(try bench.serve { (1...10).allSatisfy { bench.ends[$0] != nil } })
            let areFirst = bench.ends[0] == nil
            let ends = try bench.finish()
            for end in ends.dropFirst() { #expect(try waitForExit(try end.get().process)?.status == .exited(code: 0)) }
            let error = #expect(throws: SpawnError.self) { _ = try ends[0].get() }
            #expect(error?.errno == .timedOut)
            // The kernel releases the killed child when the server does.
            let isStuck = !bench.launcher.children.isEmpty
            fileSystem.end()
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            guard areFirst else { continue }
            #expect(isStuck)
            #expect(error?.stage == (operation == "access" ? .directory : .execute))
            return
        }
        Issue.record("the other launches ended after the one that is held, whatever the limit")
    }

    @Test("the program's user can neither read, write nor trace the code that runs before the program")
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
        #expect(bench.ends.isEmpty, "it has waited all the time")
        // The control shows that the attacks work where permitted.
        #expect(lines.prefix(3) == ["", "", "mem environ maps auxv write trace"])
        fileSystem.end()
        _ = try bench.finish()
    }
}
