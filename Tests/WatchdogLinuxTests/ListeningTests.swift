// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Listening sockets", .reapsChildren)
struct ListeningTests {
    private func listens(_ line: String, _ address: String) throws -> Bool {
        let entry = SocketTable.entry(Array(line.utf8), matching: try NetworkAddress(parsing: address))
        return entry == .match(inode: 4242)
    }

    private func line(_ local: String, state: String = "0A") -> String {
        "   0: \(local):1F90 00000000:0000 \(state) 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 100"
    }

    // The kernel prints words in native byte order; these are little-endian.
    #if _endian(little)
        @Test("an IPv4 listener matches its address, and one on all addresses matches every IPv4 address")
        func v4() throws {
            let loopback = line("0100007F")
            #expect(try listens(loopback, "8080"))
            #expect(try listens(loopback, "127.0.0.1:8080"))
            #expect(try listens(loopback, "localhost:8080"))
            #expect(try listens(loopback, "[::ffff:127.0.0.1]:8080"))
            #expect(try !listens(loopback, "10.0.0.1:8080"))
            #expect(try !listens(loopback, "[::1]:8080"))
            #expect(try !listens(loopback, "8081"))
            let any = line("00000000")
            #expect(try listens(any, "10.0.0.1:8080") && listens(any, "localhost:8080"))
            #expect(try !listens(any, "[::1]:8080"))
        }

        @Test("an IPv6 listener matches its address, and one on all addresses matches both families")
        func v6() throws {
            let loopback = line("00000000000000000000000001000000")
            #expect(try listens(loopback, "[::1]:8080") && listens(loopback, "localhost:8080"))
            #expect(try !listens(loopback, "127.0.0.1:8080"))
            let any = line(String(repeating: "0", count: 32))
            #expect(try listens(any, "[::1]:8080") && listens(any, "127.0.0.1:8080") && listens(any, "8080"))
            let mapped = line("0000000000000000FFFF00000100007F")
            #expect(try listens(mapped, "127.0.0.1:8080") && listens(mapped, "localhost:8080"))
        }
    #endif

    @Test("the search ends at the first socket that does not listen, not at the heading")
    func order() throws {
        let port = try NetworkAddress(parsing: "8080")
        let connected = Array(line("0100007F", state: "01").utf8)
        #expect(SocketTable.entry(connected, matching: port) == .end)
        let heading = Array("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt".utf8)
        #expect(SocketTable.entry(heading, matching: port) == .other)
    }

    @Test("a TCP listener is found without a connection, and its owner is identified")
    func tcp() throws {
        let listener = OwnedDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener.number, $0, length) }
        }
        try #require(bound == 0)
        var actual = length
        withUnsafeMutablePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener.number, $0, &actual) }
        }
        let port = UInt16(bigEndian: address.sin_port)
        let own = try NetworkAddress(parsing: "127.0.0.1:\(port)")
        #expect(ListeningSocket.find(own, inNamespaceOf: getpid()) == nil)
        listen(listener.number, 1)
        let found = try #require(ListeningSocket.find(own, inNamespaceOf: getpid()))
        #expect(found == ListeningSocket.find(try NetworkAddress(parsing: "\(port)"), inNamespaceOf: getpid()))
        #expect(found.isHeld(by: getpid()))
        let stranger = try spawn(shell("exit 0"))
        #expect(!found.isHeld(by: stranger.pid))
        _ = try waitForExit(stranger.process)
        var pending = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&pending, 1, 0) == 0)
    }

    @Test("a Unix listener is found by its path and by its abstract name", arguments: [false, true])
    func unix(isAbstract: Bool) throws {
        try withTemporaryDirectory { directory in
            let name = isAbstract ? "@watchdog test \(UInt64.random(in: 0 ... .max))" : "\(directory)/a socket"
            let script = """
                import os, socket, sys
                name = sys.argv[1]
                s = socket.socket(socket.AF_UNIX)
                s.bind(name.replace('@', '\\0', 1) if name[0] == '@' else name)
                os.write(1, b'bound')
                sys.stdin.readline()
                s.listen()
                os.write(1, b'listening')
                sys.stdin.readline()
                """
            var request = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", script, name])
            let input = try OwnedDescriptor.pipe()
            let output = try OwnedDescriptor.pipe()
            request.descriptors = [
                .init(input.read.number, as: 0), .init(output.write.number, as: 1), .init(2, as: 2),
            ]
            let spawned = try spawn(request)
            var buffer = [UInt8](repeating: 0, count: 64)
            let address = try NetworkAddress(parsing: name)
            try #require(waitReadable(output.read) && read(output.read.number, &buffer, 64) > 0)
            #expect(ListeningSocket.find(address, inNamespaceOf: spawned.pid) == nil)
            Glibc.write(input.write.number, "\n", 1)
            try #require(waitReadable(output.read) && read(output.read.number, &buffer, 64) > 0)
            let found = try #require(ListeningSocket.find(address, inNamespaceOf: spawned.pid))
            #expect(found.isHeld(by: spawned.pid))
            #expect(!found.isHeld(by: getpid()))
            Glibc.write(input.write.number, "\n", 1)
            _ = try waitForExit(spawned.process)
        }
    }

    // Siblings: names that end with a NUL, sockets of another root or mount namespace, systemd's own sockets.
    @Test(
        "a Unix listener is found by the file at its path, whatever path it was bound by",
        arguments: [
            ("relative", "os.chdir(path.rpartition('/')[0]); s.bind(path.rpartition('/')[2])", true),
            ("through a link", "os.symlink('.', folder + '/link'); s.bind(folder + '/link/socket')", true),
            ("link to it", "s.bind(folder + '/other'); os.symlink('other', path)", true),
            ("absolute link to it", "s.bind(folder + '/other'); os.symlink(folder + '/other', path)", true),
            ("renamed", "s.bind(path + '.1.tmp'); os.rename(path + '.1.tmp', path)", true),
            ("second name", "s.bind(folder + '/other'); os.link(folder + '/other', path)", true),
            ("removed", "s.bind(path); os.unlink(path)", false),
            ("renamed away", "s.bind(path); os.rename(path, folder + '/other')", false),
            ("not a socket", "s.bind(folder + '/other'); open(path, 'w')", false),
            ("another's", "o = socket.socket(socket.AF_UNIX); o.bind(path); s.bind(folder + '/other')", false),
        ])
    func boundBy(way: String, bind: String, isFound: Bool) throws {
        try withTemporaryDirectory { folder in
            let path = "\(folder)/socket"
            let listener = try Listener(bind, ByteString(path))
            defer { listener.end() }
            let found = ListeningSocket.find(try NetworkAddress(parsing: path), inNamespaceOf: listener.pid)
            #expect((found != nil) == isFound, "\(way)")
            #expect(found?.isHeld(by: listener.pid) != false, "\(way)")
        }
    }

    @Test("a path that was bound again leads to the new listener")
    func boundAgain() throws {
        try withTemporaryDirectory { folder in
            let path = try NetworkAddress(parsing: "\(folder)/socket")
            let first = try Listener("s.bind(path)", ByteString("\(folder)/socket"))
            defer { first.end() }
            let second = try Listener("os.unlink(path); s.bind(path)", ByteString("\(folder)/socket"))
            defer { second.end() }
            let found = try #require(ListeningSocket.find(path, inNamespaceOf: first.pid))
            #expect(found.isHeld(by: second.pid) && !found.isHeld(by: first.pid))
        }
    }

    @Test("an abstract name is found even if its program binds the whole address, zeros included")
    func paddedName() throws {
        let name = "watchdogd-test-\(UInt64.random(in: 0 ... .max))"
        let listener = try Listener("s.bind(('\\0' + path).ljust(108, '\\0'))", ByteString(name))
        defer { listener.end() }
        #expect(ListeningSocket.find(try NetworkAddress(parsing: "@\(name)"), inNamespaceOf: listener.pid) != nil)
        #expect(ListeningSocket.find(try NetworkAddress(parsing: "@\(name)2"), inNamespaceOf: listener.pid) == nil)
        let shorter = String(name.dropLast())
        #expect(ListeningSocket.find(try NetworkAddress(parsing: "@\(shorter)"), inNamespaceOf: listener.pid) == nil)
    }

    @Test(
        "a listener in another root is found by its path there, and one in another network by its text",
        .enabled(if: geteuid() == 0, "needs root"))
    func otherNamespaces() throws {
        try withTemporaryDirectory { folder in
            let inside = try Listener(
                "os.symlink('/socket', folder + '/link'); os.chroot(folder); s.bind('/socket')",
                ByteString("\(folder)/x"))
            defer { inside.end() }
            for path in ["/socket", "/link"] {
                let found = ListeningSocket.find(try NetworkAddress(parsing: path), inNamespaceOf: inside.pid)
                #expect(found?.isHeld(by: inside.pid) == true)
            }
            let apart = try Listener(
                "ctypes.CDLL(None).unshare(0x40000000); s = socket.socket(socket.AF_UNIX); s.bind(path)",
                ByteString("\(folder)/apart"))
            defer { apart.end() }
            let address = try NetworkAddress(parsing: "\(folder)/apart")
            #expect(ListeningSocket.find(address, inNamespaceOf: apart.pid)?.isHeld(by: apart.pid) == true)
        }
    }
}

/// A program that binds a socket `s` to `path` in `folder`, and listens until it is killed.
private final class Listener {
    let pid: Int32
    private let process: Pidfd
    private let output: OwnedDescriptor

    init(_ bind: String, _ path: ByteString) throws {
        let script = """
            import ctypes, os, signal, socket, sys
            path = sys.argv[1]
            folder = path.rpartition('/')[0]
            s = socket.socket(socket.AF_UNIX)
            \(bind)
            s.listen()
            os.write(1, b'x')
            signal.pause()
            """
        let pipe = try OwnedDescriptor.pipe()
        output = pipe.read
        var request = SpawnRequest(
            executable: "/usr/bin/python3", arguments: ["python3", "-c", ByteString(script), path])
        request.descriptors[1].source = pipe.write.number
        process = try spawn(request).process
        pid = process.pid
        var byte: UInt8 = 0
        guard waitReadable(output), read(output.number, &byte, 1) == 1 else {
            end()
            throw LinuxError("listen", .noSuchFile)
        }
    }

    func end() {
        try? process.send(SIGKILL)
        _ = try? waitForExit(process)
    }
}
