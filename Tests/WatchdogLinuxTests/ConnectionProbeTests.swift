// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// The kind of address on which a test server listens.
enum ProbedSocket: Sendable, CaseIterable {
    case v4
    case v6
    case unix
}

/// A listening socket that accepts only on request.
private final class Server {
    let listening: OwnedDescriptor
    let address: NetworkAddress

    /// - Parameter defersAcceptance: whether the kernel withholds connections until data arrives, as Apache asks for.
    /// - Parameter backlog: nil for a socket that does not listen.
    init(_ kind: ProbedSocket, backlog: Int32? = 8, defersAcceptance: Bool = false) throws {
        let name = "watchdogd-test-\(UInt64.random(in: 0 ... .max))"
        let given: NetworkAddress =
            switch kind {
            case .v4: .tcp(.v4([127, 0, 0, 1]), port: 0)
            case .v6: .tcp(.v6([UInt8](repeating: 0, count: 15) + [1]), port: 0)
            case .unix: .abstract(name: name)
            }
        let candidate = SocketAddress.candidates(for: given)[0]
        let created = try check("socket") { socket(candidate.family, Int32(SOCK_STREAM.rawValue), 0) }
        listening = OwnedDescriptor(taking: created)
        try candidate.bytes.withUnsafeBytes { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            _ = try check("bind") { bind(created, pointer, socklen_t(bytes.count)) }
        }
        if defersAcceptance {
            var seconds: Int32 = 30
            let size = socklen_t(MemoryLayout<Int32>.size)
            _ = try check("defer") { setsockopt(created, Int32(IPPROTO_TCP), TCP_DEFER_ACCEPT, &seconds, size) }
        }
        if let backlog { _ = try check("listen") { listen(created, backlog) } }
        var bound = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let port = try withUnsafeMutableBytes(of: &bound) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            _ = try check("getsockname") { getsockname(created, pointer, &size) }
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
        address =
            switch given {
            case .tcp(let host, _): .tcp(host, port: port)
            case .unix, .abstract: given
            }
    }

    func accept() throws -> OwnedDescriptor {
        let connection = OwnedDescriptor(taking: try check("accept") { Glibc.accept(listening.number, nil, nil) })
        // A process that another test starts would otherwise keep the connection open.
        _ = fcntl(connection.number, F_SETFD, FD_CLOEXEC)
        return connection
    }
}

@Suite("Probes by connection")
struct ConnectionProbeTests {
    @Test(
        "A server's descriptors are rejected, or end the connection unreceived if the kernel cannot reject them"
    )
    func passedDescriptors() throws {
        let tcp = try Server(.v4)
        #expect(try OutgoingConnection(to: SocketAddress.candidates(for: tcp.address)[0]).refusesDescriptors)
        let server = try Server(.unix)
        let pipe = try OwnedDescriptor.pipe()
        let copies = { descriptorCopies(of: pipe.write.number) }
        let own = copies()
        for isOld in [false, true] {
            let connection = try OutgoingConnection(to: SocketAddress.candidates(for: server.address)[0])
            if isOld {
                // SO_PASSRIGHTS fails on kernels that cannot reject descriptors.
                var on: Int32 = 1
                setsockopt(connection.descriptor.number, SOL_SOCKET, 83, &on, socklen_t(MemoryLayout<Int32>.size))
                connection.refusesDescriptors = false
            }
            #expect(try connection.connect() == .connected)
            let accepted = try server.accept()
            #expect(send(accepted.number, "a", 1, 0) == 1)
            #expect(try connection.receive() == .bytes([UInt8(ascii: "a")]))
            #expect(try connection.receive() == .nothing)
            let isPassed = wd_socket_send_with(accepted.number, "b", 1, [pipe.write.number], 1) == 0
            #expect(isPassed == !connection.refusesDescriptors)
            if !isPassed { #expect(send(accepted.number, "b", 1, 0) == 1) }
            #expect(try connection.receive() == (isPassed ? .end : .bytes([UInt8(ascii: "b")])))
            #expect(copies() == own)
        }
    }

    private static let request = Array("GET / HTTP/1.1\r\n\r\n".utf8)

    /// Runs a probe on a loop until it has a result or the limit is over.
    private func result(
        of address: NetworkAddress, _ exchange: ConnectionProbe.Exchange = .accept, within limit: Duration = patience,
        _ serve: () throws -> Void = {}
    ) throws -> ProbeResult? {
        let loop = try EventLoop()
        var result: ProbeResult?
        let probe = ConnectionProbe(of: SocketAddress.candidates(for: address), exchange, on: loop) { result = $0 }
        try serve()
        let end = Instant.now() + limit
        while result == nil, Instant.now() < end { _ = try loop.runOnce(limit: .milliseconds(20)) }
        probe.cancel()
        return result
    }

    @Test(
        "A program that accepts is alive; a connection accepted only by the kernel is not enough",
        arguments: ProbedSocket.allCases)
    func acceptance(kind: ProbedSocket) throws {
        let server = try Server(kind)
        #expect(
            try result(of: server.address, within: .milliseconds(120)) {
                // A probe that is canceled before it is queued never connects.
                try #require(waitReadable(server.listening))
            } == nil)
        // The first connection is still in the queue, so the second is served after it.
        _ = try server.accept()
        var accepted: OwnedDescriptor?
        #expect(try result(of: server.address) { accepted = try server.accept() } == .answered)
        #expect(accepted != nil)
        #expect(try result(of: server.address) { _ = try server.accept() } == .answered, "closed at once")
    }

    @Test(
        "A program that accepts in time passes, and one that does not fails, whether or not it defers acceptance",
        arguments: [ProbedSocket.v4, .v6], [false, true])
    func deferredAcceptance(kind: ProbedSocket, defers: Bool) throws {
        let server = try Server(kind, defersAcceptance: defers)
        _ = fcntl(server.listening.number, F_SETFL, O_NONBLOCK)
        #expect(try result(of: server.address, within: .milliseconds(150)) == nil, "nobody accepts")
        while (try? server.accept()) != nil {}

        let loop = try EventLoop()
        var result: ProbeResult?
        let probe = ConnectionProbe(of: SocketAddress.candidates(for: server.address), .accept, on: loop) {
            result = $0
        }
        let busy = Instant.now() + .milliseconds(100)
        while Instant.now() < busy { _ = try loop.runOnce(limit: .milliseconds(10)) }
        #expect(result == nil, "nobody has accepted yet")
        let end = Instant.now() + patience
        var accepted: OwnedDescriptor?
        while result == nil, Instant.now() < end {
            // An earlier connection may arrive late.
            while let next = try? server.accept() { accepted = next }
            _ = try loop.runOnce(limit: .milliseconds(10))
        }
        #expect(result == .answered)
        probe.cancel()
        var byte: UInt8 = 0
        #expect(recv(try #require(accepted).number, &byte, 1, 0) == 0, "the program reads no byte")
    }

    @Test("A program that closes the accepted connection passes", arguments: [ProbedSocket.v4, .v6], [false, true])
    func closesAtOnce(kind: ProbedSocket, defers: Bool) throws {
        let server = try Server(kind, defersAcceptance: defers)
        _ = fcntl(server.listening.number, F_SETFL, O_NONBLOCK)
        let loop = try EventLoop()
        var result: ProbeResult?
        let probe = ConnectionProbe(of: SocketAddress.candidates(for: server.address), .accept, on: loop) {
            result = $0
        }
        let end = Instant.now() + patience
        while result == nil, Instant.now() < end {
            _ = try? server.accept()
            _ = try loop.runOnce(limit: .milliseconds(10))
        }
        #expect(result == .answered)
        probe.cancel()
    }

    @Test("Without a listener, the probe reports a refused connection", arguments: ProbedSocket.allCases)
    func nobody(kind: ProbedSocket) throws {
        // The address stays bound, so that nobody else listens there.
        let server = try Server(kind, backlog: nil)
        #expect(try result(of: server.address) == .failed("Connection refused (ECONNREFUSED)"))
    }

    @Test("A path without a socket is reported as such")
    func noSuchPath() throws {
        let result = try result(of: .unix(path: "/nowhere/at/all"))
        #expect(result == .failed("No such file or directory (ENOENT)"))
    }

    @Test("localhost means either address family")
    func loopback() throws {
        for kind in [ProbedSocket.v4, .v6] {
            let server = try Server(kind)
            guard case .tcp(_, let port) = server.address else { return }
            let loop = try EventLoop()
            var result: ProbeResult?
            let candidates = SocketAddress.candidates(for: .tcp(.loopback, port: port))
            let probe = ConnectionProbe(of: candidates, .accept, on: loop) { result = $0 }
            _ = fcntl(server.listening.number, F_SETFL, O_NONBLOCK)
            let end = Instant.now() + patience
            while result == nil, Instant.now() < end {
                _ = try? server.accept()
                _ = try loop.runOnce(limit: .milliseconds(5))
            }
            #expect(result == .answered)
            probe.cancel()
        }
    }

    @Test("A full queue is awaited, without a failure and without blocking", arguments: ProbedSocket.allCases)
    func fullQueue(kind: ProbedSocket) throws {
        let server = try Server(kind, backlog: 0)
        var others: [OutgoingConnection] = []
        for _ in 0..<3 {
            let other = try OutgoingConnection(to: SocketAddress.candidates(for: server.address)[0])
            _ = try other.connect()
            others.append(other)
        }
        let began = Instant.now()
        #expect(try result(of: server.address, within: .milliseconds(150)) == nil)
        #expect(Instant.now() - began < patience)
    }

    @Test("An HTTP response is judged", arguments: ProbedSocket.allCases)
    func http(kind: ProbedSocket) throws {
        let server = try Server(kind)
        func ask(_ answer: String, body: String? = nil) throws -> ProbeResult? {
            try result(of: server.address, .http(request: Self.request, .init(statuses: [200...299], body: body))) {
                let connection = try server.accept()
                let bytes = Array(answer.utf8)
                #expect(write(connection.number, bytes, bytes.count) == bytes.count)
            }
        }
        #expect(try ask("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok") == .answered)
        #expect(try ask("HTTP/1.1 503 Busy\r\n\r\n") == .failed("HTTP status 503"))
    }

    @Test("The request arrives, and silence is not a result")
    func silentServer() throws {
        let server = try Server(.v4)
        var connection: OwnedDescriptor?
        let loop = try EventLoop()
        var result: ProbeResult?
        let probe = ConnectionProbe(
            of: SocketAddress.candidates(for: server.address),
            .http(request: Self.request, .init(statuses: [200...299], body: nil)), on: loop
        ) { result = $0 }
        connection = try server.accept()
        let number = try #require(connection).number
        var buffer = [UInt8](repeating: 0, count: 100)
        var count = -1
        let end = Instant.now() + patience
        while count < 0, Instant.now() < end {
            _ = try loop.runOnce(limit: .milliseconds(20))
            count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        }
        #expect(Array(buffer.prefix(max(count, 0))) == Self.request)
        _ = try loop.runOnce(limit: .milliseconds(20))
        #expect(result == nil)
        probe.abandon()
        #expect(recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT)) == -1, "abandoned, it is open")
        probe.cancel()
        #expect(read(number, &buffer, buffer.count) == 0, "cancelled, it is closed")
    }

    @Test("A server that sends endlessly does not block the loop")
    func endless() throws {
        let server = try Server(.v4)
        let exchange = ConnectionProbe.Exchange.http(
            request: Self.request, .init(statuses: [200...299], body: "never"))
        let loop = try EventLoop()
        var result: ProbeResult?
        let probe = ConnectionProbe(of: SocketAddress.candidates(for: server.address), exchange, on: loop) {
            result = $0
        }
        let connection = try server.accept()
        _ = fcntl(connection.number, F_SETFL, O_NONBLOCK)
        let head = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        write(connection.number, head, head.count)
        let junk = [UInt8](repeating: 120, count: 8 << 10)
        let end = Instant.now() + patience
        while result == nil, Instant.now() < end {
            _ = send(connection.number, junk, junk.count, Int32(MSG_NOSIGNAL))
            _ = try loop.runOnce(limit: .zero)
        }
        #expect(result == .failed("the first 64 KiB of the HTTP answer's body do not contain what it must"))
        probe.cancel()
    }
}
