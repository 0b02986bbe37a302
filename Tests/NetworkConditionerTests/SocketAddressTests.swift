// SPDX-License-Identifier: Apache-2.0

import NetworkConditioner
import Testing

@Suite("Socket addresses")
struct SocketAddressTests {
    @Test(
        "Numeric addresses and localhost are parsed",
        arguments: [
            ("127.0.0.1:80", "127.0.0.1:80"), ("localhost:8225", "127.0.0.1:8225"), ("[::1]:65535", "[::1]:65535"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ]
    )
    func reads(text: String, shown: String) throws {
        #expect("\(try SocketAddress(parsing: text))" == shown)
    }

    @Test(
        "Any other address is rejected with a hint",
        arguments: ["", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "example.com:80", "[::1:80"]
    )
    func refuses(text: String) {
        #expect {
            try SocketAddress(parsing: text)
        } throws: { error in
            "\(error)".contains("write 127.0.0.1")
        }
    }
}
