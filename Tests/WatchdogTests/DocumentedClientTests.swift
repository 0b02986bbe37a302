// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogWire

/// Extracts the programs in docs/protocol.md.
@Suite("Clients in other languages, as in the documentation", .reapsChildren)
struct DocumentedClientTests {
    private let scratch = ScratchFolder()

    /// The text of the only block in a language.
    private func program(_ language: String) throws -> String {
        let root = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let file = try #require(fopen("\(root)/docs/protocol.md", "r"))
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        let text = String(decoding: buffer[..<fread(&buffer, 1, buffer.count, file)], as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "```\(language)"))
        let end = try #require(lines[start...].firstIndex(of: "```"))
        return lines[(start + 1)..<end].joined(separator: "\n") + "\n"
    }

    private func write(_ text: String, to name: String) throws -> String {
        let path = "\(scratch.path)/\(name)"
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
        return path
    }

    private func ask(_ app: AppProcess, _ build: (inout SupervisorMessage) -> Void) -> ClientMessage? {
        var message = SupervisorMessage()
        build(&message)
        #expect(app.channel.send(message))
        return app.channel.receive()
    }

    private func end(_ app: AppProcess) {
        var message = SupervisorMessage()
        message.isTerminating = true
        app.channel.send(message)
        #expect(app.waitForExit() == 0)
        #expect(app.text(from: app.errors, within: .zero) == "")
    }

    @Test(
        "the Python client participates in the lifecycle",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "no python3"))
    func python() throws {
        let script = try write(try program("python"), to: "client.py")
        let app = AppProcess("/usr/bin/python3", arguments: [script])
        #expect(app.channel.receive()?.hello == .init(version: 1, library: "mine", hasLifecycle: true))
        #expect(app.channel.receive()?.isReady == true)
        for nonce in [1, .max] as [UInt64] { #expect(ask(app) { $0.ping = nonce }?.pong == nonce) }
        #expect(ask(app) { $0.transition = .init(to: .background, id: 1) }?.stateDone == 1)
        #expect(ask(app) { $0.event = .init(kind: "tap", id: 9, payload: "x=1") }?.eventDone == 9)
        end(app)
    }

    @Test("the C client answers pings", .enabled(if: access("/usr/bin/cc", X_OK) == 0, "no C compiler"))
    func c() throws {
        let (source, client) = (try write(try program("c"), to: "client.c"), "\(scratch.path)/client")
        let compiler = AppProcess("/usr/bin/cc", arguments: ["-Wall", "-Wextra", "-Werror", "-o", client, source])
        #expect(compiler.waitForExit() == 0)
        let app = AppProcess(client, arguments: [])
        #expect(app.channel.receive()?.hello == .init(version: 1, library: "mine"))
        #expect(app.channel.receive()?.isReady == true)
        for nonce in [1, .max] as [UInt64] { #expect(ask(app) { $0.ping = nonce }?.pong == nonce) }
        end(app)
    }
}
