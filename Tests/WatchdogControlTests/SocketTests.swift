// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogControl

@Suite("Control socket", .reapsChildren)
struct SocketTests {
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/control" }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func mode(_ path: String) -> mode_t? {
        var information = stat()
        return lstat(path, &information) == 0 ? information.st_mode & 0o7777 : nil
    }

    @Test(
        "the socket has its mode, whatever the umask, and is unlinked when it is removed",
        arguments: [0o600, 0o666] as [UInt32])
    func modes(wanted: UInt32) throws {
        let socket = try ControlSocket.bind(path: path, mode: wanted)
        #expect(mode(path) == wanted)
        #expect(socket.path == path)
        #expect(fcntl(socket.descriptor.number, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(socket.descriptor.number, F_GETFL) & O_NONBLOCK != 0)
        socket.remove()
        #expect(mode(path) == nil)
        socket.remove()
    }

    @Test("a missing folder is created, private for a user, and passable for everybody if root's")
    func folders() throws {
        let deep = "\(folder.path)/watchdogd/control"
        let socket = try ControlSocket.bind(path: deep, mode: 0o666)
        #expect(mode("\(folder.path)/watchdogd") == (geteuid() == 0 ? 0o711 : 0o700))
        socket.remove()
        #expect(throws: ControlSocket.BindError.self) {
            try ControlSocket.bind(path: "\(folder.path)/a/b/control", mode: 0o600)
        }
    }

    @Test("the socket of a dead watchdogd is replaced")
    func stale() throws {
        var socket: ControlSocket? = try ControlSocket.bind(path: path, mode: 0o600)
        stopListening(socket)
        socket = nil
        #expect(mode(path) != nil)
        #expect(throws: LinuxError("connect to \(path)", Errno(rawValue: ECONNREFUSED))) { try connect(path) }
        let next = try ControlSocket.bind(path: path, mode: 0o600)
        close(try connect(path))
        next.remove()
    }

    @Test("the socket of a running watchdogd is not replaced, even if that was started without the lock or is busy")
    func inUse() throws {
        let first = try ControlSocket.bind(path: path, mode: 0o600)
        #expect(throws: ControlSocket.BindError.inUse(path: path, process: getpid())) {
            try ControlSocket.bind(path: path, mode: 0o600)
        }
        // This is the state after a socket was adopted.
        unlink("\(path).lock")
        #expect(throws: ControlSocket.BindError.inUse(path: path, process: getpid())) {
            try ControlSocket.bind(path: path, mode: 0o600)
        }
        unlink("\(path).lock")
        listen(first.descriptor.number, 0)
        let callers = fillQueue(path)
        #expect(throws: ControlSocket.BindError.inUse(path: path, process: nil)) {
            try ControlSocket.bind(path: path, mode: 0o600)
        }
        withExtendedLifetime((first, callers)) {}
        #expect(mode(path) != nil)
    }

    @Test(
        "a child that inherited the socket does not serve it once its parent is gone", arguments: [true, false])
    func inherited(isParentGone: Bool) throws {
        // The child exits at the end of its standard input.
        let script = """
            import fcntl, os, socket, sys
            lock = open(sys.argv[1] + ".lock", "w")
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            s = socket.socket(socket.AF_UNIX)
            s.bind(sys.argv[1])
            s.listen(8)
            if os.fork() == 0 or sys.argv[2] == "stays":
                os.write(1, b"!")
                sys.stdin.read()
            """
        let input = try OwnedDescriptor.pipe()
        let output = try OwnedDescriptor.pipe()
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: ["python3", "-c", ByteString(script), ByteString(path), isParentGone ? "goes" : "stays"],
            environment: ["PATH": "/usr/bin:/bin"])
        request.descriptors = [.init(input.read.number, as: 0), .init(output.write.number, as: 1)]
        let process = try spawn(request).process
        defer { process.killAndReap() }
        var entry = pollfd(fd: output.read.number, events: Int16(POLLIN), revents: 0)
        try #require(poll(&entry, 1, patienceInMilliseconds) == 1)
        var byte: UInt8 = 0
        #expect(read(output.read.number, &byte, 1) == 1)
        if isParentGone {
            #expect(eventually { process.hasExited })
            _ = try process.waitExit()
            let next = try ControlSocket.bind(path: path, mode: 0o600)
            #expect(mode(path) != nil)
            next.remove()
        } else {
            #expect(throws: ControlSocket.BindError.inUse(path: path, process: process.pid)) {
                try ControlSocket.bind(path: path, mode: 0o600)
            }
        }
        withExtendedLifetime(input) {}
    }

    @Test("a file that is not a socket is left alone")
    func obstacle() throws {
        let file = try OwnedDescriptor(opening: path, flags: O_WRONLY | O_CREAT)
        let error = #expect(throws: ControlSocket.BindError.self) {
            try ControlSocket.bind(path: path, mode: 0o600)
        }
        #expect(error?.description == "\(path) exists and is not a socket")
        #expect(mode(path) != nil)
        withExtendedLifetime(file) {}
    }

    @Test("the socket of a successor is not removed")
    func successor() throws {
        let first = try ControlSocket.bind(path: path, mode: 0o600)
        unlink(path)
        unlink("\(path).lock")
        let second = try ControlSocket.bind(path: path, mode: 0o600)
        first.remove()
        #expect(mode(path) != nil)
        second.remove()
        #expect(mode(path) == nil)
    }

    @Test("this process replaces its own socket after re-execution")
    func ownSocket() throws {
        let first = try ControlSocket.bind(path: path, mode: 0o600)
        let second = try ControlSocket.bind(path: path, mode: 0o600, replacesOwn: true)
        first.remove()
        #expect(mode(path) != nil, "the path is the second's")
        second.remove()
        #expect(mode(path) == nil)
    }

    @Test("descriptors are rejected before a connection is accepted, if the kernel can reject them")
    func earlyDescriptors() throws {
        let socket = try ControlSocket.bind(path: path, mode: 0o600)
        let script = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX)
            s.connect(sys.argv[1])
            try:
                socket.send_fds(s, [b"x"], [0])
            except PermissionError:
                sys.exit(1)
            """
        let process = try spawn(
            SpawnRequest(
                executable: "/usr/bin/python3",
                arguments: ["python3", "-c", ByteString(script), ByteString(path)])
        ).process
        #expect(eventually { process.hasExited })
        #expect(try process.waitExit()?.status == .exited(code: socket.refusesDescriptors ? 1 : 0))
        #expect(try !ControlSocket.adopt(OwnedDescriptor(duplicating: socket.descriptor.number)).refusesDescriptors)
        socket.remove()
    }

    @Test("a path that is too long or in no folder is a clear error")
    func badPaths() {
        let long = "\(folder.path)/\(String(repeating: "x", count: 120))"
        let tooLong = #expect(throws: ControlSocket.BindError.self) { try ControlSocket.bind(path: long, mode: 0o600) }
        #expect(tooLong?.description.hasSuffix("File name too long (ENAMETOOLONG)") == true)
    }

    @Test("a passed socket is served, with its path; anything else is rejected")
    func adoption() throws {
        var first: ControlSocket? = try ControlSocket.bind(path: path, mode: 0o600)
        let passed = try OwnedDescriptor(duplicating: try #require(first).descriptor.number)
        first = nil
        let loop = try EventLoop()
        let handler = FakeHandler()
        let socket = try ControlSocket.adopt(passed)
        #expect(socket.path == path)
        let server = try ControlServer(loop: loop, socket: socket, handler: handler, info: ServiceInfo(version: "2"))
        let caller = OwnedDescriptor(taking: try connect(path))
        let call = Array(#"{"method":"\#(own).Reload"}"#.utf8) + [0]
        send(caller.number, call, call.count, 0)
        let end = Instant.now() + patience
        while handler.calls.isEmpty, Instant.now() < end { _ = try loop.runOnce(limit: .seconds(1)) }
        #expect(handler.calls == ["reload"])
        server.stop()
        socket.remove()
        #expect(mode(path) == nil)

        let pipe = try OwnedDescriptor.pipe()
        #expect(throws: ControlSocket.BindError.notListening(descriptor: pipe.read.number)) {
            try ControlSocket.adopt(pipe.read)
        }
        let datagram = OwnedDescriptor(
            taking: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        #expect(throws: ControlSocket.BindError.notListening(descriptor: datagram.number)) {
            try ControlSocket.adopt(datagram)
        }
        #expect(throws: ControlSocket.BindError.notListening(descriptor: caller.number)) {
            try ControlSocket.adopt(caller)
        }
    }
}

@Suite("Client")
struct ClientTests {
    private let folder: TemporaryFolder
    private var place: ControlPath { ControlPath("\(folder.path)/control") }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func error(_ place: ControlPath, patience: Duration = TestSupport.patience) -> ControlClientError? {
        #expect(throws: ControlClientError.self) { try ControlClient(place, patience: patience).info() }
    }

    @Test("if nobody listens, the error suggests a remedy")
    func notRunning() throws {
        #expect(error(place)?.code == .notRunning)
        #expect(error(place)?.description == "watchdogd is not running: no socket at \(place.path)")
        stopListening(try ControlSocket.bind(path: place.path, mode: 0o600))
        #expect(error(place)?.description == "watchdogd is not running: nothing listens at \(place.path)")
        #expect(ControlPath.system.path == "/run/watchdogd/control")
        let missing = ControlClientError.cannotConnect(.noSuchFile, .system, isUnderSystemd: true)
        #expect(
            missing.description == "watchdogd is not running: no socket at /run/watchdogd/control; "
                + "start it with 'systemctl start watchdogd'")
        let user = try #require(ControlPath.user(environment: ["XDG_RUNTIME_DIR": "/run/user/7"]))
        #expect(
            ControlClientError.cannotConnect(.connectionRefused, user, isUnderSystemd: true).description
                == "watchdogd is not running: nothing listens at /run/user/7/watchdogd/control; "
                + "start it with 'systemctl --user start watchdogd'")
        #expect(
            ControlClientError.cannotConnect(.noSuchFile, .system, isUnderSystemd: false).description
                == "watchdogd is not running: no socket at /run/watchdogd/control; start it with 'watchdogd serve'")
        #expect(
            ControlClientError.cannotConnect(.permissionDenied, user).description
                == "you may not connect to watchdogd at /run/user/7/watchdogd/control: permission denied")
        #expect(ControlPath.user(environment: [:]) == nil)
        #expect(ControlPath.user(environment: ["XDG_RUNTIME_DIR": "run"]) == nil)
        #expect(ControlPath.system.socketMode == 0o666)
        #expect(user.socketMode == 0o600)
    }

    @Test("a watchdogd that does not answer is abandoned after the given patience")
    func timeout() throws {
        let socket = try ControlSocket.bind(path: place.path, mode: 0o600)
        let late = error(place, patience: .milliseconds(20))
        #expect(late?.code == .timedOut)
        #expect(late?.description == "watchdogd did not answer at \(place.path) in time")
        // The wait to be accepted is limited too.
        listen(socket.descriptor.number, 0)
        let callers = fillQueue(place.path)
        #expect(error(place, patience: .milliseconds(20))?.code == .timedOut)
        withExtendedLifetime((socket, callers)) {}
    }

    @Test(
        "an invalid reply is reported as such, and never as a result",
        arguments: [
            "", "nonsense", "[]", "{}", #"{"parameters":{}}"#, #"{"parameters":[]}"#, #"{"error":3}"#,
            #"{"parameters":{"version":"1"}}"#, #"{"a":"# + String(repeating: "[", count: 5000), "{\"a\":\"\u{1b}[31m",
        ]
    )
    func nonsense(answer: String) throws {
        let socket = try ControlSocket.bind(path: place.path, mode: 0o600)
        let listening = socket.descriptor
        startThread { answerOnce(listening.number, Array(answer.utf8) + [0]) }
        let told = try #require(error(place))
        #expect(told.code == .notUnderstood)
        #expect(!told.description.contains("\u{1b}"))
    }

    @Test("errors unknown to this version keep their name; a connection that ends early is reported as such")
    func others() throws {
        let socket = try ControlSocket.bind(path: place.path, mode: 0o600)
        let listening = socket.descriptor
        startThread {
            answerOnce(listening.number, Array(#"{"error":"org.x.Odd\u001b","parameters":{"a":1}}"#.utf8) + [0])
        }
        let odd = error(place)
        #expect(odd?.controlError == .other(name: "org.x.Odd\u{1b}"))
        #expect(odd?.description == #"watchdogd answered with org.x.Odd\x1b"#)
        startThread { answerOnce(listening.number, Array(#"{"par"#.utf8)) }
        let early = error(place)
        #expect(early?.code == .disconnected)
        #expect(early?.description == "watchdogd closed the connection before it had answered")
    }
}

/// Connects until nobody else can.
private func fillQueue(_ path: String) -> [OwnedDescriptor] {
    var callers: [OwnedDescriptor] = []
    while let caller = try? connect(path) { callers.append(OwnedDescriptor(taking: caller)) }
    return callers
}

/// Accepts one connection, sends bytes and closes it.
private func answerOnce(_ listening: Int32, _ bytes: [UInt8]) {
    var entry = pollfd(fd: listening, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, patienceInMilliseconds) == 1 else { return }
    let connection = accept(listening, nil, nil)
    guard connection >= 0 else { return }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while recv(connection, &buffer, buffer.count, 0) > 0 {
        guard !buffer.contains(UInt8(ascii: "}")) else { break }
    }
    send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    shutdown(connection, Int32(SHUT_WR))
    while recv(connection, &buffer, buffer.count, 0) > 0 {}
    close(connection)
}
