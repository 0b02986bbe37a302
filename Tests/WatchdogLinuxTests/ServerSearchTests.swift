// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The worker that should answer a connection", .reapsChildren)
final class ServerSearchTests {
    private let folder: String

    init() throws { folder = try makeTemporaryDirectory() }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private var address: NetworkAddress { .unix(path: "\(folder)/socket") }

    /// A master that reaps its workers, each of which does something with the socket `s`.
    private func server(_ workers: String..., address: String? = nil) throws -> TrailSubject {
        let forks = workers.map { "if os.fork() == 0:\n    \($0)\n    pause()\n" }.joined()
        return try TrailSubject(
            "s = listen(sys.argv[1])\n\(forks)mark(sys.argv[2])\nwhile True: os.wait()",
            address ?? "\(folder)/socket", "\(folder)/ready")
    }

    private func search(
        _ server: TrailSubject, _ connection: UnansweredConnection, preferring preferred: Int32? = nil,
        until condition: (ServingProcess?, [Int32]) -> Bool
    ) -> (found: ServingProcess?, workers: [Int32]) {
        var last: ServingProcess?
        var workers: [Int32] = []
        _ = eventually {
            guard access("\(folder)/ready", F_OK) == 0 else { return false }
            workers = Procfs.children(of: server.pid)
            let look = WaitLook(budget: .seconds(10)) { [server.pid] + workers }
            last = look.server(of: connection, main: server.pid, preferring: preferred)
            return condition(last, workers)
        }
        return (last, workers)
    }

    @Test("The worker that accepted the connection is chosen", arguments: [false, true])
    func accepted(overTCP: Bool) throws {
        let work = "c, _ = s.accept(); c.recv(1)"
        let server = try server(work, address: overTCP ? "tcp:\(folder)/port" : nil)
        let file = "\(folder)/\(overTCP ? "port" : "socket")"
        try #require(eventually { access(file, F_OK) == 0 })
        var address = self.address
        if overTCP {
            let text = String(decoding: try #require(Procfs.read(file)), as: UTF8.self)
            address = try NetworkAddress(parsing: "127.0.0.1:\(text)")
        }
        let client = try OutgoingConnection(to: try #require(SocketAddress.candidates(for: address).first))
        try #require(eventually { (try? client.connect()) != nil })
        _ = try client.send([1])
        try #require(eventually { client.acceptedSocket != nil })
        let connection = UnansweredConnection(accepted: client.acceptedSocket, address: address)
        let (found, workers) = search(server, connection) { found, workers in
            found != nil && found?.id == workers.first
        }
        #expect(found?.id == workers.first && found?.hasAccepted == true)
        let later = UnansweredConnection(accepted: nil, address: address)
        let held = search(server, later) { found, workers in
            // The master may be chosen until it waits.
            found != nil && found?.id == workers.first
        }
        #expect(held.found?.id == workers.first && held.found?.hasAccepted == false)
    }

    @Test(
        "A worker that is blocked before it accepts is chosen, and its master is not",
        arguments: ["os.kill(os.getpid(), signal.SIGSTOP)", "while True: pass", "r, w = os.pipe(); os.read(r, 1)"])
    func kept(deed: String) throws {
        let server = try server(deed)
        let (found, workers) = search(server, UnansweredConnection(accepted: nil, address: address)) { found, workers in
            found != nil && found?.id == workers.first
        }
        #expect(found?.id == workers.first && found?.hasAccepted == false)
    }

    @Test("A Unix socket that was bound by a relative path is found", arguments: ["socket", "./socket"])
    func relative(name: String) throws {
        let server = try TrailSubject(
            "os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[2]); s.listen(1)\n"
                + "if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\nmark('ready'); os.wait()", folder, name)
        let (found, workers) = search(server, UnansweredConnection(accepted: nil, address: address)) { found, workers in
            found != nil && found?.id == workers.first
        }
        #expect(found?.id == workers.first && found?.hasAccepted == false)
    }

    @Test("A stopped worker is preferred to one that reads")
    func stopped() throws {
        let server = try server("r, w = os.pipe(); os.read(r, 1)", "os.kill(os.getpid(), signal.SIGSTOP)")
        let (found, workers) = search(server, UnansweredConnection(accepted: nil, address: address)) { found, workers in
            workers.count == 2 && found?.id == workers.max()
        }
        #expect(found?.id == workers.max())
    }

    @Test("Among equal workers, the one chosen before is chosen again")
    func preferred() throws {
        let read = "r, w = os.pipe(); os.read(r, 1)"
        let server = try server(read, read)
        let connection = UnansweredConnection(accepted: nil, address: address)
        let (first, workers) = search(server, connection) { found, workers in
            workers.count == 2 && found?.id == workers.min()
        }
        #expect(first?.id == workers.min())
        let (second, _) = search(server, connection, preferring: workers.max()) { found, workers in
            found?.id == workers.max()
        }
        #expect(second?.id == workers.max())
    }

    @Test("A worker that holds a lock is chosen over one that waits for it")
    func lock() throws {
        let lock = "f = open('\(folder)/lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX); mark('\(folder)/held')"
        let server = try server("await_('\(folder)/held'); \(lock)", "\(lock); r, w = os.pipe(); os.read(r, 1)")
        let (found, workers) = search(server, UnansweredConnection(accepted: nil, address: address)) { found, workers in
            workers.count == 2 && found?.id == workers.max()
        }
        #expect(found?.id == workers.max())
    }

    @Test("No worker is chosen while all of them wait for clients")
    func idle() throws {
        let server = try server("mark('\(folder)/waiting'); s.accept()")
        let (found, _) = search(server, UnansweredConnection(accepted: nil, address: address)) { found, workers in
            guard access("\(folder)/waiting", F_OK) == 0, let worker = workers.first else { return false }
            return found == nil && ProcessStat.read(worker)?.state == .sleeping
        }
        #expect(found == nil)
    }

    @Test("Without a cgroup, a process that is not a descendant does not belong to the app")
    func stranger() throws {
        let server = try server("os.kill(os.getpid(), signal.SIGSTOP)")
        let other = try TrailSubject("pause()")
        let connection = UnansweredConnection(accepted: nil, address: address)
        func found(from main: TrailSubject) -> Int32? {
            let process = ExaminedProcess(id: main.pid, startTime: 0, cgroup: nil)
            let look = WaitLook(budget: .seconds(10)) { process.members }
            return look.server(of: connection, main: main.pid, preferring: nil)?.id
        }
        #expect(eventually { found(from: server).map { [$0] == Procfs.children(of: server.pid) } == true })
        #expect(found(from: other) == nil)
    }

    private func search(
        _ server: TrailSubject, askedBy command: TrailSubject, until condition: (ServingProcess?, [Int32]) -> Bool
    ) -> (found: ServingProcess?, workers: [Int32]) {
        var last: ServingProcess?
        var workers: [Int32] = []
        _ = eventually {
            workers = Procfs.children(of: server.pid)
            let look = WaitLook(budget: .seconds(10)) { [server.pid] + workers }
            last = look.server(askedBy: command.pid, preferring: nil)
            return condition(last, workers)
        }
        return (last, workers)
    }

    @Test(
        "A command leads to the worker from which it or its child awaits a reply", arguments: [false, true],
        [false, true])
    func asked(overTCP: Bool, byChild: Bool) throws {
        let address = overTCP ? "tcp:\(folder)/port" : "\(folder)/socket"
        let server = try server("c, _ = s.accept(); c.recv(1); r, w = os.pipe(); os.read(r, 1)", address: address)
        let command = try TrailSubject(
            byChild ? "if os.fork() == 0: ask(sys.argv[1])\nos.wait()" : "ask(sys.argv[1])", address)
        let (found, workers) = search(server, askedBy: command) { found, workers in
            found?.hasAccepted == true && found?.id == workers.first
        }
        #expect(found?.id == workers.first && found?.hasAccepted == true)
    }

    @Test(
        "A command leads to the worker that is blocked before it accepts, and not to its master",
        arguments: [false, true])
    func askedInVain(overTCP: Bool) throws {
        let address = overTCP ? "tcp:\(folder)/port" : "\(folder)/socket"
        let server = try server("os.kill(os.getpid(), signal.SIGSTOP)", address: address)
        let command = try TrailSubject("ask(sys.argv[1])", address)
        let (found, workers) = search(server, askedBy: command) { found, workers in
            // The master may be chosen until it waits.
            found != nil && found?.id == workers.first
        }
        #expect(found?.id == workers.first && found?.hasAccepted == false)
    }

    @Test(
        "A command in connect(2) to a Unix socket whose queue is full leads to the worker that does not accept",
        arguments: [false, true])
    func connecting(byRelativePath: Bool) throws {
        let server = try server("os.kill(os.getpid(), signal.SIGSTOP)")
        let command = try TrailSubject(
            """
            os.chdir(sys.argv[1])
            clients = []
            while True:
                clients.append(socket.socket(socket.AF_UNIX))
                try: clients[-1].connect(sys.argv[2])
                except OSError: clients.pop()
            """, folder, byRelativePath ? "socket" : "\(folder)/socket")
        let (found, workers) = search(server, askedBy: command) { found, workers in
            // The master may be chosen until it waits.
            found != nil && found?.id == workers.first
        }
        #expect(found?.id == workers.first && found?.hasAccepted == false)
    }

    @Test("Of a process with threads, the one that is held up is chosen", arguments: [false, true])
    func thread(accepts: Bool) throws {
        let server = try TrailSubject(
            """
            s = listen(sys.argv[1])
            def doze():
                while True: time.sleep(600)
            def serve():
                if sys.argv[3] == "yes": c, _ = s.accept()
                r, w = os.pipe()
                mark(sys.argv[2])
                os.read(r, 1)
            threading.Thread(target=doze, daemon=True).start()
            threading.Thread(target=serve, daemon=True).start()
            signal.sigwait([signal.SIGUSR1])
            """, "\(folder)/socket", "\(folder)/ready", accepts ? "yes" : "no")
        let client = try OutgoingConnection(to: try #require(SocketAddress.candidates(for: address).first))
        try #require(eventually { (try? client.connect()) != nil })
        if accepts { try #require(eventually { client.acceptedSocket != nil }) }
        let (found, _) = search(
            server, UnansweredConnection(accepted: accepts ? client.acceptedSocket : nil, address: address)
        ) { found, _ in
            guard let thread = found?.thread else { return false }
            let call = WaitLook.syscall(.init(process: server.pid, thread: thread))
            return call.flatMap { BlockedCall(parsing: $0) }?.kind == WD_CALL_DESCRIPTOR
        }
        #expect(found?.id == server.pid && found?.hasAccepted == accepts)
        #expect(found.map { $0.thread != server.pid } == true)
        let call = try #require(WaitLook.syscall(.init(process: server.pid, thread: found?.thread ?? 0)))
        #expect(BlockedCall(parsing: call)?.kind == WD_CALL_DESCRIPTOR, "\(call)")
    }

    @Test("A command that waits for another program, or for nothing, leads nowhere")
    func askedOthers() throws {
        let server = try server("r, w = os.pipe(); os.read(r, 1)")
        let other = try TrailSubject("s = listen(sys.argv[1]); c, _ = s.accept(); pause()", "\(folder)/other")
        let command = try TrailSubject("ask(sys.argv[1])", "\(folder)/other")
        var trail = WaitTrail()
        #expect(
            eventually {
                trail = WaitLook(budget: .seconds(10)) { [] }.trail(process: command.pid, thread: command.pid)
                return trail.hops.first?.process == other.pid && trail.hops.first?.link == .reply
            })
        try #require(eventually { access("\(folder)/ready", F_OK) == 0 })
        let look = WaitLook(budget: .seconds(10)) { [server.pid] + Procfs.children(of: server.pid) }
        #expect(look.server(askedBy: command.pid, preferring: nil) == nil)
        #expect(look.server(askedBy: other.pid, preferring: nil) == nil)
    }

    @Test(
        "The answer about a command survives encoding by the examiner; a later process with the same ID does not match")
    func askedMessage() throws {
        let server = try server("c, _ = s.accept(); c.recv(1); r, w = os.pipe(); os.read(r, 1)")
        let command = try TrailSubject("ask(sys.argv[1])", "\(folder)/socket")
        let (found, _) = search(server, askedBy: command) { found, workers in
            found?.hasAccepted == true && found?.id == workers.first
        }
        let main = try #require(ProcessStat.read(server.pid))
        let asker = try #require(ProcessStat.read(command.pid))
        let process = ExaminedProcess(id: server.pid, startTime: main.startTime, cgroup: nil)
        func answer(startTime: UInt64) -> ServingProcess?? {
            let examination = Examination.server(
                of: process, askedBy: ExaminedProcess(id: command.pid, startTime: startTime, cgroup: nil),
                preferring: nil)
            return examination.answer(in: ExaminationAnswer.make(to: examination.request))
        }
        var last: ServingProcess?
        _ = eventually {
            last = answer(startTime: asker.startTime) ?? nil
            return last != nil
        }
        #expect(last == found)
        #expect(answer(startTime: asker.startTime + 1) == nil)
    }

    @Test("The answer survives encoding by the examiner")
    func message() throws {
        let server = try server("os.kill(os.getpid(), signal.SIGSTOP)")
        let connection = UnansweredConnection(accepted: nil, address: address)
        let (found, _) = search(server, connection) { found, workers in
            found != nil && found?.id == workers.first
        }
        let stat = try #require(ProcessStat.read(server.pid))
        let process = ExaminedProcess(id: server.pid, startTime: stat.startTime, cgroup: nil)
        let examination = Examination.server(of: process, for: connection, preferring: nil)
        var answer: ServingProcess?
        // The master may be chosen until it waits.
        _ = eventually {
            answer = examination.answer(in: ExaminationAnswer.make(to: examination.request)) ?? nil
            return answer == found
        }
        #expect(answer == found)
    }
}
