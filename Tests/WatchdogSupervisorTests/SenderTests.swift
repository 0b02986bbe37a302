// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore
import WatchdogWire

@testable import WatchdogLaunch

@Suite("Which senders' messages count", .serialized, .reapsChildren)
struct SenderTests {
    private let bench: HostBench
    private var system: FailingSystem { bench.system }
    private var host: Host { bench.host }

    init() throws { bench = try HostBench("senders") }

    private static let prologue = """
        import os, signal, socket, sys
        def notify(text, address=sys.argv[1] if len(sys.argv) > 1 else os.environ["NOTIFY_SOCKET"]):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.connect("\\0" + address[1:] if address[0] == "@" else address)
            s.send(text.encode())

        """

    private func configuration(
        _ script: String, readiness: Readiness = .none
    ) -> LaunchConfiguration {
        LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: AppSpec.patient("heard-\(getpid())", readiness: readiness)),
            executable: "/usr/bin/python3", arguments: ["python3", "-c", ByteString(Self.prologue + script)],
            environment: .inherited, workingDirectory: nil, credentials: nil, probe: nil, livenessTarget: nil,
            store: ReportStore(directory: "/nowhere"))
    }

    /// Starts a process of this or another user outside the app, and waits until it has sent its messages.
    private func stranger(_ script: String, _ address: String, user: UInt32? = nil) throws -> Pidfd {
        let pipe = try OwnedDescriptor.pipe()
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: ["python3", "-c", ByteString(Self.prologue + script), ByteString(address)])
        request.descriptors[1].source = pipe.write.number
        request.credentials = user.map { Credentials(user: $0, group: $0) }
        let process = try spawn(request).process
        var entry = pollfd(fd: pipe.read.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, patienceInMilliseconds) == 1)
        return process
    }

    private func reap(_ process: Pidfd) throws {
        defer { process.killAndReap() }
        #expect(eventually { process.hasExited })
        #expect(try process.waitExit() != nil)
    }

    /// - Parameter isInCgroup: whether the app has a cgroup, if this machine can give it one.
    @Test(
        "A stranger with the same user can neither have the app killed nor report for it, even after it has exited",
        arguments: [true, false])
    func strangers(isInCgroup: Bool) throws {
        if !isInCgroup {
            system.script(failing: ENOSPC) { [unowned system] _ in system.calls.last == "create the cgroup" }
        }
        let shell = try LaunchShell(
            host,
            configuration(
                """
                signal.signal(signal.SIGUSR1, lambda *_: None)
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
                notify("STATUS=begun")
                signal.sigwait([signal.SIGUSR1])
                if os.fork() == 0:
                    notify("STATUS=child")
                    os._exit(0)
                os.wait()
                signal.sigwait([signal.SIGUSR1])
                notify("STATUS=end")
                signal.pause()
                """), terminal: nil)
        var outcome: Outcome?
        let supervisor = Supervisor(spec: shell.configuration.sharedSpec, shell: shell)
        supervisor.onFinish = { outcome = $0 }
        var heard: [NotifyMessage] = []
        try shell.start(supervisor)
        supervisor.launch()
        try bench.turn("the app has begun") { supervisor.account.status == "begun" }
        supervisor.onNotify = { heard.append($0) }

        let alive = try stranger(
            #"for t in ["WATCHDOG=trigger", "STOPPING=1", "READY=1\nSTATUS=stranger", f"MAINPID={os.getpid()}"]:"#
                + " notify(t)\nos.write(1, b'x'); signal.pause()", shell.sockets.notifyAddress)
        defer { alive.killAndReap() }
        // The process is reaped before its messages are read.
        let gone = try stranger(
            #"for t in ["WATCHDOG=trigger", "STOPPING=1"]: notify(t)"# + "\nos.write(1, b'x')",
            shell.sockets.notifyAddress)
        try reap(gone)
        shell.signal(SIGUSR1)
        try bench.turn("a child that is gone is heard") { supervisor.account.status == "child" }
        #expect(heard.map(\.status) == ["child"])
        #expect(!heard.contains { $0.isReady || $0.isReloading || $0.isStopping })
        shell.signal(SIGUSR1)
        try bench.turn("everything was read") { supervisor.account.status == "end" || outcome != nil }
        #expect(outcome == nil)
        #expect(supervisor.machine.phase == .running)
        #expect(supervisor.account.mainProcess == nil)

        supervisor.requestTermination()
        supervisor.requestTermination()
        try bench.turn("it is killed") { outcome != nil }
        shell.stop()
    }

    // The same applies to gosu, su-exec, setpriv, sudo, a master that drops its privileges, and workers with users of
    // their own.
    @Test(
        "Messages of a program that changed its user count; strangers of either user are rejected, with one notice",
        .enabled(if: geteuid() == 0, "needs root"), arguments: [true, false])
    func changedUser(isInCgroup: Bool) throws {
        if !isInCgroup {
            system.script(failing: ENOSPC) { [unowned system] _ in system.calls.last == "create the cgroup" }
        }
        let shell = try LaunchShell(
            host,
            configuration(
                """
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
                notify("STATUS=begun")
                os.setgroups([]); os.setgid(65534); os.setuid(65534)
                signal.sigwait([signal.SIGUSR1])
                # Gone before its message is read, as systemd-notify --no-block.
                if os.fork() == 0:
                    notify("READY=1")
                    os._exit(0)
                os.wait()
                signal.sigwait([signal.SIGUSR1])
                notify("WATCHDOG=1")
                notify("ERRNO=7")
                signal.pause()
                """, readiness: .notify), terminal: nil)
        var outcome: Outcome?
        var refused: [UInt32] = []
        let supervisor = Supervisor(spec: shell.configuration.sharedSpec, shell: shell)
        supervisor.onFinish = { outcome = $0 }
        supervisor.onNotice = { if case .messageRefused(_, let user) = $0 { refused.append(user) } }
        try shell.start(supervisor)
        supervisor.launch()
        try bench.turn("the app has begun") { supervisor.account.status == "begun" }

        let messages = #"for t in ["WATCHDOG=trigger", "STOPPING=1", "READY=1"]: notify(t)"# + "\nos.write(1, b'x')"
        let alive = try stranger("\(messages); signal.pause()", shell.sockets.notifyAddress, user: 65534)
        defer { alive.killAndReap() }
        try reap(try stranger(messages, shell.sockets.notifyAddress, user: 65533))
        try bench.turn("a stranger was refused") { !refused.isEmpty }
        #expect(supervisor.machine.phase == .launching)
        shell.signal(SIGUSR1)
        try bench.turn("the app is ready") { supervisor.machine.phase == .running || outcome != nil }
        shell.signal(SIGUSR1)
        try bench.turn("everything was read") { supervisor.account.errno == 7 || outcome != nil }
        #expect(outcome == nil)
        #expect(supervisor.account.signsOfLife == 1)
        #expect(refused == [65534])

        supervisor.requestTermination()
        supervisor.requestTermination()
        try bench.turn("it is killed") { outcome != nil }
        shell.stop()
    }

    @Test("A process that reuses a sender's ID does not inherit its standing")
    func reusedID() throws {
        let spawned = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "600"]))
        defer { spawned.process.killAndReap() }
        let other = try spawn(SpawnRequest(executable: "/bin/true", arguments: ["true"])).process
        try reap(other)
        let app = Containment.processTree(
            ProcessTree(root: spawned.pid, startTime: try #require(spawned.startTime)))
        func standing(
            of pid: Int32, age: Duration = .zero, sender: Pidfd? = nil, isLost: Bool = false
        ) -> SenderStanding {
            app.standing(
                ofSender: SocketMessage(
                    bytes: [], senderProcess: pid, senderUser: 0, senderGroup: 0, age: age, sender: sender,
                    isSenderLost: isLost))
        }
        #expect(standing(of: spawned.pid) == .member)
        #expect(standing(of: spawned.pid, sender: spawned.process) == .member)
        #expect(standing(of: spawned.pid, age: patience * 10) == .unknown)
        #expect(standing(of: spawned.pid, sender: other) == .unknown)
        #expect(standing(of: spawned.pid, isLost: true) == .unknown)
        #expect(standing(of: getpid()) == .stranger)
        #expect(standing(of: 0) == .stranger)
        try spawned.process.send(SIGKILL)
        try reap(spawned.process)
        #expect(standing(of: spawned.pid) == .unknown)
    }

    /// A process's message, as the kernel describes it.
    private func message(of process: Pidfd, age: Duration = .zero, isIdentified: Bool = true) -> SocketMessage {
        SocketMessage(
            bytes: [], senderProcess: process.pid, senderUser: 0, senderGroup: 0, age: age,
            sender: isIdentified ? process : nil)
    }

    @Test("A living process is looked up only for its first message; a process that reuses an ID is looked up again")
    func knownSender() throws {
        var lookUps = 0
        var answer = SenderStanding.member
        let judge = SenderJudge { _ in
            lookUps += 1
            return answer
        }
        let worker = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "600"])).process
        defer { worker.killAndReap() }
        #expect(!judge.knows(senderOf: message(of: worker)))
        #expect(judge.standing(ofSender: message(of: worker, age: .seconds(1))) == .member)
        #expect(lookUps == 1)
        // The kernel is not queried for a known sender.
        #expect(judge.knows(senderOf: message(of: worker, isIdentified: false)))
        #expect(judge.standing(ofSender: message(of: worker, isIdentified: false)) == .member)
        #expect(lookUps == 1)
        // The previous holder of the ID sent it.
        #expect(!judge.knows(senderOf: message(of: worker, age: patience * 10, isIdentified: false)))

        try worker.send(SIGKILL)
        #expect(eventually { worker.hasExited })
        #expect(judge.knows(senderOf: message(of: worker, isIdentified: false)), "its ID is still its own")
        try reap(worker)
        answer = .stranger
        #expect(!judge.knows(senderOf: message(of: worker, isIdentified: false)))
        #expect(judge.standing(ofSender: message(of: worker, isIdentified: false)) == .stranger)
        #expect(lookUps == 2)
    }

    @Test("A stranger, or a sender that the kernel does not name, is looked up for each message")
    func unknownSender() throws {
        var lookUps = 0
        var answer = SenderStanding.stranger
        let judge = SenderJudge { _ in
            lookUps += 1
            return answer
        }
        let other = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "600"])).process
        defer { other.killAndReap() }
        for _ in 0..<2 { #expect(judge.standing(ofSender: message(of: other)) == .stranger) }
        #expect(lookUps == 2)
        answer = .member
        for _ in 0..<2 { #expect(judge.standing(ofSender: message(of: other, isIdentified: false)) == .member) }
        #expect(lookUps == 4)
    }

    @Test("The main process is never looked up, and a message from before its launch is not attributed to it")
    func mainSender() throws {
        let known = KnownSenders()
        var lookUps = 0
        let judge = SenderJudge(known) { _ in
            lookUps += 1
            return .unknown
        }
        let main = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "600"])).process
        defer { main.killAndReap() }
        known.setMain(main, launchedAt: .now())
        for _ in 0..<3 {
            #expect(judge.standing(ofSender: message(of: main, isIdentified: false)) == .member)
        }
        #expect(lookUps == 0)
        #expect(judge.standing(ofSender: message(of: main, age: patience * 10, isIdentified: false)) == .unknown)
        #expect(lookUps == 1)
    }
}
