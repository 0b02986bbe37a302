// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Reading /proc", .reapsChildren)
struct ProcfsTests {
    private let tail = "S 1 2 3 0 -1 0 0 0 0 0 11 22 0 0 20 0 4 0 555 0 0"

    @Test(
        "a process name may contain anything",
        arguments: ["sh", "a) S 9 9 9 (b", "x) R", "((", "", "a b", "new\nline", "\u{1F436}"]
    )
    func names(name: String) throws {
        let stat = try #require(ProcessStat(parsing: "77 (\(name)) \(tail)\n".utf8))
        #expect(stat.name == name)
        #expect(stat.id == 77 && stat.state == .sleeping && stat.parent == 1 && stat.group == 2 && stat.session == 3)
        #expect(stat.userTicks == 11 && stat.systemTicks == 22 && stat.threadCount == 4 && stat.startTime == 555)
    }

    @Test(
        "malformed text is rejected",
        arguments: [
            "", "77", "77 (x", "77 x) S 1 2 3", ") (", "77 (x) ", "77 (x) Q 1 2 3 0 -1 0 0 0 0 0 1 2 0 0 20 0 4 0 5 0",
            "77 (x) S 1 2 3 0 -1 0 0 0 0 0 11 22 0 0 20 0 4 0", "-7 (x) S 1 2 3 0 -1 0 0 0 0 0 1 2 0 0 20 0 4 0 5 0",
            "99999999999 (x) S 1 2 3 0 -1 0 0 0 0 0 1 2 0 0 20 0 4 0 5 0",
        ]
    )
    func malformed(line: String) {
        #expect(ProcessStat(parsing: line.utf8) == nil)
    }

    @Test("arbitrary bytes never trap a parser")
    func noise() {
        var generator = SeededGenerator(seed: testSeed)
        let alphabet = Array("0123456789 ():\nSAcpuTgidFfx\t\0".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<120, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            _ = ProcessStat(parsing: bytes)
            _ = ProcessStatus(parsing: bytes)
            _ = ThreadSchedule(parsing: bytes)
            _ = MachineCPU(parsing: bytes, tick: .milliseconds(10))
            _ = SocketTable.entry(bytes, matching: .tcp(.loopback, port: 80))
            _ = SocketTable.entry(bytes, matching: .unix(path: "/x"))
            _ = CgroupMount.parse(mountinfo: String(decoding: bytes, as: UTF8.self))
            _ = try? NetworkAddress(parsing: String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test("decimal numbers consist of digits and fit their type")
    func decimals() {
        #expect(Int32(decimal: "2147483647".utf8) == .max)
        #expect(Int32(decimal: "2147483648".utf8) == nil)
        #expect(UInt8(decimal: "255".utf8) == 255)
        #expect(UInt8(decimal: "256".utf8) == nil)
        #expect(UInt8(decimal: "300".utf8) == nil)
        for text in ["", "-1", "+1", " 1", "1 ", "0x1", "1.0"] { #expect(Int(decimal: text.utf8) == nil) }
    }

    @Test("this process is described correctly")
    func own() throws {
        let pid = getpid()
        let stat = try #require(ProcessStat.read(pid))
        #expect(stat.id == pid && stat.parent == getppid() && stat.group == getpgrp() && stat.session == getsid(0))
        let status = try #require(ProcessStatus.read(pid))
        #expect(status.user == geteuid() && status.group == getegid() && status.process == pid)
        #expect((status.residentBytes ?? 0) > 1_000_000)
        #expect(Procfs.threads(of: pid).contains(pid))
        #expect(ProcessFacts.executable(pid).map { access($0, X_OK) } == 0)
        #expect(ProcessFacts.arguments(pid) == ByteString.commandLine)
        #expect(ProcessFacts.environment(pid)?["PATH"] != nil)
        #expect(ProcessStat.read(0) == nil)
        #expect(ProcessStatus.read(-1) == nil)
    }

    @Test("a process's CPU time is exact, and the machine's includes it")
    func cpu() throws {
        let machine = try #require(MachineCPU.read())
        let before = try #require(ProcessCPU.time(getpid()))
        let spawned = try spawn(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
        try #require(waitReadable(spawned.process.descriptor))
        let child = try #require(ProcessCPU.time(spawned.pid))
        let usage = try #require(try spawned.process.waitExit()?.usage)
        #expect(child > .milliseconds(1))
        // Both are the kernel's own counts; the exit itself comes in between.
        #expect(usage.userTime + usage.systemTime + .milliseconds(5) > child)
        let after = try #require(MachineCPU.read())
        #expect(after.busyTime + after.idleTime + after.stolenTime > machine.busyTime)
        #expect(try #require(ProcessCPU.time(getpid())) >= before)
        #expect(ProcessCPU.time(spawned.pid) == nil)
    }

    @Test("the fields of the machine's CPU line are sorted into busy, idle and stolen")
    func machineLine() throws {
        let cpu = try #require(MachineCPU(parsing: "cpu  1 2 4 8 16 32 64 128 7 7\ncpu0 1".utf8, tick: .seconds(1)))
        #expect(cpu.userTime == .seconds(3))
        #expect(cpu.systemTime == .seconds(100))
        #expect(cpu.idleTime == .seconds(24))
        #expect(cpu.stolenTime == .seconds(128))
        #expect(MachineCPU(parsing: "cpu0 1 2 4 8 16 32 64 128".utf8, tick: .seconds(1)) == nil)
    }

    @Test("a probe shows a process that waits, stops and exits")
    func probe() throws {
        let pipe = try OwnedDescriptor.pipe()
        var request = SpawnRequest(executable: "/bin/cat", arguments: ["cat"])
        request.descriptors[0].source = pipe.read.number
        let spawned = try spawn(request)
        let probe = try ProcessProbe(spawned.pid)
        // A single reading must show all of it, because a program that is being loaded also sleeps and reads.
        var look = probe.observe()
        let isSeen = eventually {
            look = probe.observe()
            return look?.state == .sleeping && look?.syscall?.first == "0"
        }
        #expect(isSeen)
        let waiting = try #require(look)
        #expect(waiting.tracer == nil)
        #expect(waiting.waitChannel != nil)
        #expect(try #require(waiting.schedule).runTime > .zero)
        #expect(waiting.processCPUTime > .zero)

        try spawned.process.send(SIGSTOP)
        #expect(eventually { probe.observe()?.state == .stopped })
        try spawned.process.send(SIGKILL)
        _ = try waitForExit(spawned.process)
        #expect(probe.observe() == nil)
        #expect(throws: LinuxError.self) { try ProcessProbe(spawned.pid) }
        withExtendedLifetime(pipe) {}
    }

    @Test(
        "the tracer of a traced process is named",
        .enabled(if: access("/usr/bin/strace", X_OK) == 0, "needs strace")
    )
    func tracer() throws {
        var request = SpawnRequest(
            executable: "/usr/bin/strace",
            arguments: ["strace", "-qo", "/dev/null", "/bin/cat"]
        )
        let pipe = try OwnedDescriptor.pipe()
        request.descriptors[0].source = pipe.read.number
        let spawned = try spawn(request)
        defer {
            try? spawned.process.send(SIGKILL)
            _ = try? waitForExit(spawned.process)
        }
        #expect(
            eventually {
                // Before that, strace forks others to test the kernel's features; if killed then, it leaves one stopped
                // forever.
                Procfs.children(of: spawned.pid).contains {
                    ProcessStatus.read($0)?.tracer == spawned.pid && ProcessStat.read($0)?.name == "cat"
                }
            }
        )
        withExtendedLifetime(pipe) {}
    }

    @Test("the machine has a name, a kernel and its own id")
    func machine() {
        #expect(!Machine.hostName.isEmpty)
        #expect(Machine.kernelRelease.first?.isNumber == true)
        #expect(!Machine.systemName.isEmpty)
        #expect(Machine.processorCount >= 1)
        #expect(Machine.memoryBytes > 1 << 20)
        #expect(Machine.uptime > .zero)
        #expect(Machine.bootIdentifier.count == 36)
        if let identifier = Machine.identifier {
            #expect(identifier.count == 32)
            #expect(identifier != Procfs.line("/etc/machine-id"))
        }
    }

    @Test("the system's name is parsed with any quoting")
    func prettyName() {
        #expect(Machine.prettyName(osRelease: "ID=x\nPRETTY_NAME=\"A \\\"B\\\" 1\"\n") == "A \"B\" 1")
        #expect(Machine.prettyName(osRelease: "PRETTY_NAME='A B'") == "A B")
        #expect(Machine.prettyName(osRelease: "PRETTY_NAME=Alpine") == "Alpine")
        #expect(Machine.prettyName(osRelease: "PRETTY_NAME=\nX=1") == nil)
        #expect(Machine.prettyName(osRelease: "X_PRETTY_NAME=a") == nil)
    }

    @Test("clocks agree with each other")
    func clocks() {
        let first = Instant.now()
        let second = Instant.now()
        #expect(second >= first)
        func read(_ clock: clockid_t) -> Duration {
            var time = timespec()
            clock_gettime(clock, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        // The values lie between these readings, however far apart the readings are.
        let before = (boot: read(CLOCK_BOOTTIME), monotonic: read(CLOCK_MONOTONIC), wall: read(CLOCK_REALTIME))
        let (suspended, wall) = (SuspendedTime.now(), WallTime.now())
        let after = (boot: read(CLOCK_BOOTTIME), monotonic: read(CLOCK_MONOTONIC), wall: read(CLOCK_REALTIME))
        #expect(suspended >= before.boot - after.monotonic && suspended <= after.boot - before.monotonic)
        let time = Duration.seconds(wall.seconds) + .nanoseconds(wall.nanoseconds)
        #expect(time >= before.wall && time <= after.wall)
        #expect(wall.seconds > 1_700_000_000)
        #expect(WallTime(nanosecondsSince1970: -1).seconds == -1)
        #expect(WallTime(nanosecondsSince1970: -1).nanoseconds == 999_999_999)
    }

    @Test("The CPU time of a process includes that of its descendants")
    func ownTime() throws {
        func consumer(_ process: Int32, _ milliseconds: Int) -> CPUUse.Consumer {
            CPUUse.Consumer(process: process, name: "p", time: .milliseconds(milliseconds))
        }
        let consumers = [
            consumer(1, 10), consumer(10, 20), consumer(11, 40), consumer(12, 80), consumer(20, 160), consumer(30, 320),
        ]
        // A cycle, which processes that changed during the reading can produce.
        let parents: [Int32: Int32] = [1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 30: 31, 31: 30]
        let use = CPUUse(consumers: consumers, parents: parents, rest: .milliseconds(1))
        let time = try #require(use.time(below: 10))
        #expect(time.own == .milliseconds(140))
        #expect(time.total == .milliseconds(631))
        #expect(use.most(2).map(\.process) == [30, 20])
        let part = CPUUse(consumers: consumers, parents: parents, isComplete: false)
        #expect(part.time(below: 10) == nil, "not all processes were read")
        #expect(part.most(1).map(\.process) == [30])
    }

    @Test("Usage since a reading counts, and all usage of processes that started later")
    func consumers() throws {
        func busy() throws -> SpawnedProcess { try spawn(shell("while :; do :; done")) }
        func hasUsed(_ amount: Duration, _ process: SpawnedProcess) -> Bool {
            ProcessCPU.time(process.pid).map { $0 >= amount } ?? false
        }
        var started: [SpawnedProcess] = []
        defer {
            for process in started {
                try? process.process.send(SIGKILL)
                _ = try? waitForExit(process.process)
            }
        }
        let old = try busy()
        started.append(old)
        #expect(eventually { hasUsed(.milliseconds(40), old) })
        let before = CPUConsumers.read()
        let least = try #require(ProcessCPU.time(old.pid))
        let new = try busy()
        started.append(new)
        #expect(eventually { hasUsed(least + .milliseconds(20), old) && hasUsed(.milliseconds(20), new) })
        let use = before.use()
        let most = try #require(ProcessCPU.time(old.pid))
        let oldUse = try #require(use.consumers.first { $0.process == old.pid })
        let newUse = try #require(use.consumers.first { $0.process == new.pid })
        #expect(oldUse.name == "sh" && oldUse.time >= .milliseconds(20) && oldUse.time <= most - .milliseconds(40))
        #expect(newUse.time >= .milliseconds(20))
        let time = try #require(use.time(below: getpid()))
        #expect(time.own >= oldUse.time + newUse.time && time.total >= time.own)
        #expect(use.time(below: new.pid)?.own == newUse.time)
    }
}
