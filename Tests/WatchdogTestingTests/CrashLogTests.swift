// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogTesting

@Suite("The peer of a wait")
struct PeerTests {
    @Test(
        "An address is an IP address with a port, or the name of a Unix socket",
        arguments: [
            ("127.0.0.1:8080", .port(8080, of: "127.0.0.1")), ("[::1]:65535", .port(65_535, of: "::1")),
            ("[fe80::1]:0", .port(0, of: "fe80::1")), ("/run/app:80", .unixSocket("/run/app:80")),
            ("@app:80", .unixSocket("@app:80")), ("app", .unixSocket("app")),
            ("app:65536", .unixSocket("app:65536")),
        ] as [(String, CrashLog.Wait.Peer)])
    func peer(text: String, peer: CrashLog.Wait.Peer) {
        #expect(CrashLog.Wait.Peer(text) == peer)
    }
}
