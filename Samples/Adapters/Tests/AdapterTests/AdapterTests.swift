// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("Adapters to other main loops", .serialized)
struct AdapterTests {
    private func launch(_ name: String) -> App {
        let app = App(name)
        let greeting = app.receive() ?? ""
        #expect(greeting.hasPrefix("HELLO=1\n"))
        // What was said before goes out with the greeting.
        #expect(greeting.hasSuffix("\nREADY=1\n") || app.receive(line: "READY=1"))
        return app
    }

    @Test("a SwiftNIO event loop answers as long as it turns, and not while it is blocked")
    func nio() throws {
        let app = launch("EchoServer")
        let line = try #require(app.nextLine())
        let port = try #require(line.split(separator: " ").last.flatMap { UInt16($0) })
        let client = connect(toPort: port)
        defer { close(client) }
        for nonce in 1...20 {
            app.send("PING=\(nonce)\n")
            #expect(app.receive(line: "PONG=\(nonce)"))
        }
        // What the loop works on when it is blocked for long is what it was sent last.
        #expect(exchange(client, "hello") == "hello")
        write(client, "block 1500", 10)
        #expect(isSilent(app, from: 21))
        #expect(receive(client) == "block 1500")
        app.send("PING=900000\n")
        #expect(app.receive(line: "PONG=900000"))
        app.send("TERMINATE=1\n")
        #expect(app.receive(line: "STOPPING=1"))
        #expect(app.nextLine() == "EchoServer: ends")
        #expect(app.waitForExit() == 0)
    }

    @Test("a group of services answers as long as the pool has a thread, and not while all are blocked")
    func services() {
        let app = launch("Ticker")
        #expect(app.nextLine() == "Ticker: ticks")
        for nonce in 1...20 {
            app.send("PING=\(nonce)\n")
            #expect(app.receive(line: "PONG=\(nonce)"))
        }
        kill(app.process, SIGUSR1)
        #expect(app.nextLine()?.hasPrefix("Ticker: blocks") == true)
        #expect(isSilent(app, from: 21))
        app.send("PING=900000\n")
        #expect(app.receive(line: "PONG=900000"))
        app.send("TERMINATE=1\n")
        #expect(app.receive(line: "STOPPING=1"))
        #expect(app.nextLine() == "Ticker: ticked")
        #expect(app.nextLine() == "Ticker: ends")
        #expect(app.waitForExit() == 0)
    }

    @Test("SIGTERM ends both in order", arguments: ["EchoServer", "Ticker"])
    func signal(name: String) {
        let app = launch(name)
        #expect(app.nextLine() != nil)
        kill(app.process, SIGTERM)
        #expect(app.receive(line: "STOPPING=1"))
        #expect(app.waitForExit() == 0)
    }

    /// True once a ping stays unanswered for half a second, as it does in a loop that is blocked for longer.
    ///
    /// Until the request to block has arrived, pings are answered.
    private func isSilent(_ app: App, from first: Int) -> Bool {
        for nonce in first..<(first + 100_000) {
            app.send("PING=\(nonce)\n")
            if !app.receive(line: "PONG=\(nonce)", within: 500) { return true }
        }
        return false
    }

    private func connect(toPort port: UInt16) -> Int32 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(result == 0)
        return client
    }

    private func exchange(_ client: Int32, _ text: String) -> String? {
        write(client, text, text.utf8.count)
        return receive(client)
    }

    private func receive(_ client: Int32) -> String? {
        var wait = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, patience) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(client, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
