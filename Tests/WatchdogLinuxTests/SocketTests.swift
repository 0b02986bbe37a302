// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Sockets", .reapsChildren)
struct SocketTests {
    private func withNotifySocket(_ body: (NotifySocket) throws -> Void) throws {
        let directory = try RuntimeDirectory.create()
        defer { directory.remove() }
        try body(try NotifySocket(in: directory, name: "notify-\(UInt32.random(in: 0 ... .max))"))
    }

    private func next(_ socket: NotifySocket) throws -> SocketMessage {
        try #require(waitReadable(socket.descriptor))
        return try #require(try socket.receive())
    }

    private func python(_ script: String, _ address: String) -> SpawnRequest {
        let prologue = """
            import array, os, socket, sys
            address = sys.argv[1]
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.connect('\\0' + address[1:] if address[0] == '@' else address)

            """
        return SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: ["python3", "-c", prologue + script, address]
        )
    }

    @Test(
        "systemd-notify's message arrives with its sender",
        .enabled(if: access("/usr/bin/systemd-notify", X_OK) == 0, "needs systemd-notify")
    )
    func systemdNotify() throws {
        try withNotifySocket { socket in
            #expect(try socket.receive() == nil)
            var request = SpawnRequest(
                executable: "/usr/bin/systemd-notify",
                arguments: ["systemd-notify", "--ready", "--status=all is well"]
            )
            request.environment["NOTIFY_SOCKET"] = socket.address
            let spawned = try spawn(request)
            let message = try next(socket)
            #expect(String(decoding: message.bytes, as: UTF8.self) == "READY=1\nSTATUS=all is well")
            #expect(message.senderUser == geteuid() && message.senderGroup == getegid())
            #expect(!message.isTruncated)
            // systemd-notify sends on behalf of its parent if permitted.
            #expect([spawned.pid, getpid()].contains(message.senderProcess))
            // It then waits for its barrier, which ends when the descriptor that came with it is closed.
            if message.bytes != Array("BARRIER=1".utf8) { _ = try next(socket) }
            #expect(try waitForExit(spawned.process)?.status == .exited(code: 0))
        }
    }

    @Test("a message that is too long is truncated and marked, and too many descriptors do no harm")
    func limits() throws {
        try withNotifySocket { socket in
            let script = """
                s.send(b'x' * 4096)
                s.send(b'y' * 4097)
                s.send(b'')
                fds = array.array('i', [os.open('/dev/null', os.O_RDONLY) for _ in range(50)])
                s.sendmsg([b'z'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                """
            let spawned = try spawn(python(script, socket.address))
            let whole = try next(socket)
            #expect(whole.bytes.count == 4096 && !whole.isTruncated)
            let cut = try next(socket)
            #expect(cut.bytes.count == 4096 && cut.isTruncated)
            #expect(try next(socket).bytes.isEmpty)
            let attached = try next(socket)
            #expect(attached.bytes == [UInt8(ascii: "z")])
            _ = try waitForExit(spawned.process)
        }
    }

    @Test(
        "programs of every user can reach the socket if they know its address",
        .enabled(if: getuid() == 0, "needs root")
    )
    func otherUser() throws {
        let directory = try RuntimeDirectory.create()
        defer { directory.remove() }
        let socket = try NotifySocket(in: directory, name: "notify")
        for user: UInt32 in [65534, 65533] {
            var request = python("s.send(b'hello')", socket.address)
            request.credentials = Credentials(user: user, group: user)
            let spawned = try spawn(request)
            #expect(try waitForExit(spawned.process)?.status == .exited(code: 0))
            #expect(try socket.receive()?.senderUser == user)
        }
        // Neither the directory nor the kernel's list of sockets reveals it.
        let listed = Procfs.read("/proc/self/net/unix", limit: 64 << 20) ?? []
        let text = String(decoding: listed, as: UTF8.self)
        #expect(text.contains("\(directory.path)/notify"))
        #expect(!text.contains(socket.address))
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: ["python3", "-c", "import os, sys; os.listdir(sys.argv[1])", ByteString(directory.path)])
        request.credentials = Credentials(user: 65534, group: 65534)
        request.descriptors[2].source = try OwnedDescriptor(opening: "/dev/null", flags: O_WRONLY).keptOpen()
        let curious = try spawn(request)
        #expect(try waitForExit(curious.process)?.status == .exited(code: 1))
    }

    @Test("a directory that is too deep for a socket's path yields an abstract name")
    func abstractName() throws {
        let directory = RuntimeDirectory(path: "/tmp/" + String(repeating: "d", count: 120))
        let socket = try NotifySocket(in: directory, name: "notify")
        #expect(socket.address.hasPrefix("@watchdogd-\(getpid())-"))
        let spawned = try spawn(python("s.send(b'READY=1')", socket.address))
        #expect(try next(socket).bytes == Array("READY=1".utf8))
        _ = try waitForExit(spawned.process)
    }

    @Test("the socket's path is removed with it")
    func removal() throws {
        var path = ""
        try withNotifySocket { socket in
            path = socket.address
            #expect(access(path, F_OK) == 0)
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test("a runtime directory is private, and one that others may write is not used")
    func runtimeDirectory() throws {
        try withTemporaryDirectory { temporary in
            let own = try RuntimeDirectory.create(environment: ["XDG_RUNTIME_DIR": temporary, "TMPDIR": temporary])
            var information = stat()
            #expect(stat(own.path, &information) == 0)
            #expect(information.st_uid == geteuid())
            #expect(information.st_mode & 0o777 == 0o711)
            let second = try RuntimeDirectory.create(environment: ["XDG_RUNTIME_DIR": temporary, "TMPDIR": temporary])
            own.remove()
            #expect(access(own.path, F_OK) != 0)
            #expect(access(second.path, F_OK) == 0)
            second.remove()
            guard geteuid() != 0 else { return }
            chmod("\(temporary)/watchdogd", 0o777)
            let other = try RuntimeDirectory.create(environment: ["XDG_RUNTIME_DIR": temporary, "TMPDIR": temporary])
            #expect(other.path.hasPrefix("\(temporary)/watchdogd-"))
            other.remove()
            #expect(access(other.path, F_OK) != 0)
        }
    }

    @Test("a place admits everyone only if every directory on the way does")
    func openPlaces() throws {
        try withTemporaryDirectory { temporary in
            let inner = "\(temporary)/inner"
            #expect(mkdir(inner, 0o700) == 0)
            for (outerMode, innerMode, isOpen) in [
                (0o755, 0o711, true), (0o711, 0o701, true), (0o700, 0o711, false), (0o711, 0o700, false),
                (0o710, 0o777, false),
            ] as [(mode_t, mode_t, Bool)] {
                #expect(chmod(temporary, outerMode) == 0 && chmod(inner, innerMode) == 0)
                #expect(RuntimeDirectory.admitsEveryone(inner) == isOpen)
                #expect(RuntimeDirectory.admitsEveryone("\(inner)/../inner/") == isOpen)
            }
            #expect(!RuntimeDirectory.admitsEveryone("\(temporary)/missing"))
            chmod(temporary, 0o711)
            chmod(inner, 0o711)
            guard geteuid() != 0 else { return }
            let closed = "\(temporary)/closed"
            #expect(mkdir(closed, 0o700) == 0)
            let chosen = try RuntimeDirectory.create(environment: ["XDG_RUNTIME_DIR": closed, "TMPDIR": inner])
            #expect(chosen.path.hasPrefix("\(inner)/watchdogd-"))
            let lastResort = try RuntimeDirectory.create(in: [closed], ["XDG_RUNTIME_DIR": closed])
            #expect(lastResort.path.hasPrefix("\(closed)/watchdogd/"))
            for directory in [chosen, lastResort] { directory.remove() }
        }
    }

    @Test("leftovers of a killed watchdogd in a shared directory are removed, but not through links")
    func leftovers() throws {
        try withTemporaryDirectory { temporary in
            let gone = try spawn(shell("exit 0"))
            _ = try waitForExit(gone.process)
            let (left, linked) = ("\(temporary)/watchdogd-\(gone.pid)-aaaaaa", "\(temporary)/victim")
            for directory in [left, linked] {
                #expect(mkdir(directory, 0o700) == 0)
                let socket = try NotifySocket(in: RuntimeDirectory(path: directory), name: "notify")
                socket.keepsAddress = true
            }
            let own = "\(temporary)/watchdogd-\(getpid())-aaaaaa"
            #expect(mkdir(own, 0o700) == 0)
            #expect(symlink(linked, "\(temporary)/watchdogd-\(gone.pid)-bbbbbb") == 0)
            RuntimeDirectory.removeLeftovers(in: temporary, prefix: "watchdogd-")
            #expect(access(left, F_OK) != 0)
            #expect(access(own, F_OK) == 0)
            let directory = try #require(opendir(linked))
            defer { closedir(directory) }
            var kept = 0
            while let entry = readdir(directory) { kept += entry.pointee.d_type == UInt8(DT_SOCK) ? 1 : 0 }
            #expect(kept == 1)
        }
    }

    @Test("a channel carries packets both ways, and detects that it is full, empty or closed")
    func channel() throws {
        var (channel, app): (Channel, OwnedDescriptor?) = try Channel.pair()
        guard case .nothing = try channel.receive() else {
            Issue.record("something came from nowhere")
            return
        }
        let number = try #require(app).number
        #expect(try channel.send(Array("PING=1".utf8)) == .sent)
        var buffer = [UInt8](repeating: 0, count: 64)
        #expect(recv(number, &buffer, buffer.count, 0) == 6)
        for packet in ["PONG=1", "", "READY=1"] {
            #expect(send(number, packet, packet.utf8.count, 0) == packet.utf8.count)
        }
        for packet in ["PONG=1", "", "READY=1"] {
            guard case .message(let message) = try channel.receive() else {
                Issue.record("no message")
                return
            }
            #expect(message.bytes == Array(packet.utf8))
            #expect(message.senderProcess == getpid())
        }
        var sent = 0
        while try channel.send([UInt8](repeating: 1, count: 4096)) == .sent { sent += 1 }
        #expect(sent > 1)
        #expect(try channel.send([1]) == .full)

        app = nil
        // Another test may be starting a process that has a copy of this end until its execve(2).
        #expect(waitReadable(channel.descriptor))
        #expect(try channel.send([1]) == .closed)
        guard case .closed = try channel.receive() else {
            Issue.record("not closed")
            return
        }
    }

    @Test("messages that an app sent before it closed its end are still received")
    func lastWords() throws {
        var (channel, app): (Channel, OwnedDescriptor?) = try Channel.pair()
        let number = try #require(app).number
        send(number, "SUMMARY=bye", 11, 0)
        app = nil
        guard case .message(let message) = try channel.receive() else {
            Issue.record("no message")
            return
        }
        #expect(message.bytes == Array("SUMMARY=bye".utf8))
        #expect(waitReadable(channel.descriptor))
        guard case .closed = try channel.receive() else {
            Issue.record("not closed")
            return
        }
    }

    @Test("a message stays for another reader until it is handled, and is then removed")
    func heeding() throws {
        // Not a channel, because that rejects descriptors if the kernel can.
        var ends: [Int32] = [-1, -1]
        try #require(wd_socket_pair(&ends) == 0)
        let (socket, app) = (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
        var (read, write): (OwnedDescriptor, OwnedDescriptor?) = try OwnedDescriptor.pipe()
        let attached = try [#require(write).number]
        #expect(wd_socket_send_with(app.number, "READY=1", 7, attached, 1) == 0)
        #expect(wd_socket_send(app.number, "PONG=1", 6) == 0)
        write = nil
        var heeded: [String] = []
        for _ in 0..<2 {
            let reception = try SocketMessage.heed(from: socket, WD_ORIGIN_SENDER) { message in
                heeded.append(String(decoding: message.bytes, as: UTF8.self))
                guard case .message(let again)? = try? SocketMessage.peek(from: socket, WD_ORIGIN_SENDER)
                else {
                    Issue.record("it is gone")
                    return
                }
                #expect(again.bytes == message.bytes)
                #expect(again.hasDescriptors == message.hasDescriptors)
                #expect(message.hasDescriptors == (heeded.count == 1))
            }
            guard case .message(let message) = reception else {
                Issue.record("no message")
                return
            }
            if message.hasDescriptors { _ = try SocketMessage.receive(from: socket) }
        }
        #expect(heeded == ["READY=1", "PONG=1"])
        guard
            case .nothing = try SocketMessage.heed(
                from: socket, WD_ORIGIN_SENDER, { _ in Issue.record("heeded twice") })
        else {
            Issue.record("not empty")
            return
        }
        #expect(waitReadable(read), "nobody has what was attached any more")
    }

    @Test("a channel rejects descriptors")
    func refusedDescriptors() throws {
        let (channel, app) = try Channel.pair()
        let pipe = try OwnedDescriptor.pipe()
        let isSent = wd_socket_send_with(app.number, "PONG=1", 6, [pipe.write.number], 1) == 0
        // Linux 6.16 rejects them when they are sent; older kernels need them closed outside the loop.
        let refuses = wd_socket_refuse_descriptors(channel.descriptor.number) == 0
        #expect(isSent == !refuses)
        #expect(wd_socket_send(app.number, "PONG=2", 6) == 0)
        guard case .message(let message) = try channel.receive() else {
            Issue.record("no message")
            return
        }
        #expect(message.bytes == Array((refuses ? "PONG=2" : "PONG=1").utf8))
    }

    @Test("an app gets its end, and only its end")
    func inheritedChannel() throws {
        let (channel, app) = try Channel.pair()
        let script = "import socket; s = socket.socket(fileno=5); s.send(s.recv(99) + b'!')"
        var request = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", script])
        request.descriptors.append(.init(app.number, as: 5))
        #expect(try channel.send(Array("PING=7".utf8)) == .sent)
        let spawned = try spawn(request)
        try #require(waitReadable(channel.descriptor))
        guard case .message(let message) = try channel.receive() else {
            Issue.record("no message")
            return
        }
        #expect(message.bytes == Array("PING=7!".utf8))
        #expect(message.senderProcess == spawned.pid)
        _ = try waitForExit(spawned.process)
    }
}

extension OwnedDescriptor {
    /// A number that stays open until the test process ends.
    fileprivate func keptOpen() -> Int32 { fcntl(number, F_DUPFD_CLOEXEC, 0) }
}
