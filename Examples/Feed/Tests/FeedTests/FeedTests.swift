// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogTesting

/// A server that accepts connections and never answers.
private final class SilentServer: Sendable {
    let port: UInt16
    private let listener: Int32

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        try #require(result)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(listener) }
}

@Suite(.launch(LaunchSettings(update: .seconds(4))))
struct FeedTests {
    /// Fails before the repair: remove `--repaired`, and the message has the verdict, with the crash log attached.
    @Test func reloadSurvivesASilentServer() async throws {
        let server = try SilentServer()
        let app = try await SupervisedApp.launch(.product("Feed", "--repaired"))
        try await app.send(event: "reload", payload: "\(server.port)")
        try await app.expectSurvival(for: .seconds(6))
        try await app.terminate()
    }

    /// Documents the mistake: it passes as long as the app has it.
    @Test func theFirstVersionHangs() async throws {
        let server = try SilentServer()
        let app = try await SupervisedApp.launch("Feed")
        try await app.post(event: "reload", payload: "\(server.port)")
        let kill = try await app.expectKill(.ateBadFood, during: .sceneUpdate)
        let log = try kill.report
        #expect(log.cause == .blocked)
        #expect(log.mainThread.contains("loadFeed(from:)"))
        #expect(log.wait?.peer == .port(server.port, of: "127.0.0.1"), "\(log.verdict)")
    }
}
