// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("A text server")
struct TextServerTests {
    /// For tests in which no client is too slow, however slow the machine is.
    private static let unhurried: TextServer.Limits = {
        var limits = TextServer.Limits()
        limits.patience = TestSupport.patience
        (limits.firstByte, limits.request, limits.stall) = (limits.patience, limits.patience, limits.patience)
        limits.connectionsPerPeer = limits.connections
        return limits
    }()
    private static let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// A server on a free local port, whose text is provided on request.
    private final class Station {
        let port: UInt16
        let server: TextServer

        private let relay = Relay()

        /// How often the text was requested.
        var asks: Int { relay.asks }

        init(_ limits: TextServer.Limits = unhurried, text: [UInt8] = Array("a 1\n".utf8)) throws {
            let listener = try TextServer.listen(on: .tcp(.v4([127, 0, 0, 1]), port: 0))
            var place = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener.number, $0, &size) }
            }
            try #require(result == 0)
            port = UInt16(bigEndian: place.sin_port)
            server = try TextServer(listener, path: "/metrics", contentType: "text/plain", limits: limits) {
                [relay] in relay.provide(text)
            }
            relay.serve(server)
        }

        deinit {
            server.stop()
        }
    }

    /// Answers on the requesting thread.
    private final class Relay: Sendable {
        private let state = Locked<(server: TextServer?, asks: Int)>((nil, 0))

        var asks: Int { state.withLock { $0.asks } }

        func serve(_ server: TextServer) { state.withLock { $0.server = server } }

        func provide(_ text: [UInt8]) {
            let server = state.withLock { state in
                state.asks += 1
                return state.server
            }
            server?.provide(text)
        }
    }

    /// A client with the tests' patience.
    private final class Client {
        let descriptor: OwnedDescriptor
        /// Keeps the station alive as long as its clients.
        private let station: Station

        /// - Parameter room: the size of the kernel's receive buffer; nil for the default.
        init(_ station: Station, room: Int32? = nil) throws {
            self.station = station
            let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            try #require(number >= 0)
            descriptor = OwnedDescriptor(taking: number)
            if var room {
                setsockopt(number, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
            }
            var limit = timeval(tv_sec: Int(TestSupport.patience.components.seconds), tv_usec: 0)
            setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = station.port.bigEndian
            place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            let result = withUnsafePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            try #require(result == 0, "connect: \(Errno(rawValue: errno))")
        }

        func say(_ text: String) {
            let bytes = Array(text.utf8)
            _ = send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }

        /// Reads until the end of the connection.
        func readAll() -> String {
            var result: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let length = recv(descriptor.number, &buffer, buffer.count, 0)
                guard length > 0 else { return String(decoding: result, as: UTF8.self) }
                result += buffer[..<length]
            }
        }

        func get(_ text: String = request) -> String {
            say(text)
            return readAll()
        }
    }

    @Test("only the text is served")
    func serves() throws {
        let station = try Station()
        let answer = try Client(station).get()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n"))
        #expect(answer.hasSuffix("\r\n\r\na 1\n"))
        let head = try Client(station).get(Self.request.replacing("GET", with: "HEAD"))
        #expect(answer == head + "a 1\n", "the same without the body")
        #expect(try Client(station).get("GET http://x/metrics HTTP/1.1\r\n\r\n") == answer)
        #expect(try Client(station).get("HEAD / HTTP/1.1\r\n\r\n").hasSuffix("\r\n\r\n"))
        #expect(try Client(station).get("GET / HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 404 "))
        #expect(try Client(station).get("PUT /metrics HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 405 "))
        #expect(try Client(station).get("nonsense\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
    }

    @Test("a request in single bytes is served, and one without an end is rejected at its limit")
    func pieces() throws {
        var limits = Self.unhurried
        limits.requestBytes = 64
        let station = try Station(limits)
        let slow = try Client(station)
        for character in Self.request { slow.say("\(character)") }
        #expect(slow.readAll().hasPrefix("HTTP/1.1 200 "))
        #expect(try Client(station).get(String(repeating: "a", count: 64)).hasPrefix("HTTP/1.1 431 "))
    }

    @Test("a long text arrives unchanged")
    func long() throws {
        let text = (0..<2_000_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let answer = try Client(try Station(text: text)).get()
        let isWhole = answer.utf8.suffix(text.count).elementsEqual(text)
        #expect(isWhole)
    }

    @Test("a client that sends nothing or never reads is closed when its time is over, and not before")
    func patience() throws {
        var limits = TextServer.Limits()
        (limits.patience, limits.connections) = (.milliseconds(700), 2)
        (limits.firstByte, limits.stall) = (limits.patience, limits.patience)
        let station = try Station(limits, text: [UInt8](repeating: UInt8(ascii: "a"), count: 16 << 20))
        let start = Instant.now()
        let deaf = try Client(station, room: 4_096)
        deaf.say(Self.request)
        let silent = try Client(station)
        #expect(silent.readAll() == "")
        let silence = Instant.now() - start
        #expect(silence >= limits.patience && silence < TestSupport.patience)
        // It came earlier, so its time is over too: reading now returns the kernel's buffer, and then the end.
        #expect(deaf.readAll().utf8.count < 16 << 20)
        // The server has dropped both. On a starved machine, this client may also be too slow.
        #expect(try eventually { try Client(station).get("GET /x HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 404 ") })
    }

    @Test("a client that reads in time gets everything, however many others do not")
    func readsInTime() throws {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 4 << 20)
        let station = try Station(text: text)
        let deaf = try (0..<10).map { _ in try Client(station, room: 4_096) }
        for client in deaf { client.say(Self.request) }
        #expect(try Client(station).get().utf8.count > text.count)
        #expect(deaf.count == 10)
    }

    @Test("of a thousand simultaneous clients each is served or rejected, and the next one is served")
    func thousand() throws {
        var limits = Self.unhurried
        limits.connections = 4
        let station = try Station(limits)
        var served = 0
        var refused = 0
        for _ in 0..<20 {
            let clients = try (0..<50).map { _ in try Client(station) }
            for client in clients { client.say(Self.request) }
            for client in clients {
                let answer = client.readAll()
                if answer.hasPrefix("HTTP/1.1 200 ") { served += 1 }
                // The rejection is lost if the client's request arrives after it.
                if answer.hasPrefix("HTTP/1.1 503 ") || answer == "" { refused += 1 }
            }
        }
        #expect(served + refused == 1_000)
        #expect(served >= 20)
        #expect(try Client(station).get().hasPrefix("HTTP/1.1 200 "))
    }

    @Test("clients up to the limit are served in parallel; one more replaces the oldest")
    func connections() throws {
        var limits = Self.unhurried
        (limits.connections, limits.connectionsPerPeer) = (3, 3)
        let station = try Station(limits)
        var held: [Client] = []
        for _ in 0..<4 {
            held.append(try Client(station))
            held.last?.say("GET ")
        }
        #expect(held[0].readAll().hasPrefix("HTTP/1.1 503 "))
        for client in held.dropFirst() { client.say("/metrics HTTP/1.1\r\n\r\n") }
        for client in held.dropFirst() { #expect(client.readAll().hasPrefix("HTTP/1.1 200 ")) }
    }

    @Test("a scraper is served immediately beside any number of clients that send nothing or a byte at a time")
    func starved() throws {
        let station = try Station()
        let silent = try (0..<40).map { index in
            let client = try Client(station)
            if index.isMultiple(of: 2) { client.say("G") }
            return client
        }
        #expect(try Client(station).get().hasPrefix("HTTP/1.1 200 "))
        #expect(silent.count == 40)
    }

    @Test("at most two versions of the text are kept, however slowly they are read")
    func versions() throws {
        var limits = Self.unhurried
        limits.freshness = .zero
        let station = try Station(limits, text: [UInt8](repeating: UInt8(ascii: "a"), count: 16 << 20))
        var deaf: [Client] = []
        for _ in 0..<8 {
            let client = try Client(station, room: 4_096)
            client.say(Self.request)
            // Its response has begun.
            var byte: UInt8 = 0
            #expect(recv(client.descriptor.number, &byte, 1, 0) == 1)
            deaf.append(client)
        }
        #expect(station.asks == 2)
        #expect(deaf.count == 8)
    }
}
