// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("HTTP probes compared with curl", .reapsChildren)
struct HTTPComparisonTests {
    private static let program = "/usr/bin/curl"

    @Test("judge alike, except where the table differs", .enabled(if: access(program, X_OK) == 0, "needs curl"))
    func curl() throws {
        let listener = OwnedDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        // Listening binds it to a free port on all addresses: listen(2), ip(7).
        try #require(listen(listener.number, 8) == 0)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener.number, $0, &length) }
        }
        try #require(code == 0)
        let request = SpawnRequest(
            executable: Self.program,
            arguments: [
                // Independent of the user's settings and proxies.
                "curl", "--disable", "--noproxy", "*", "--silent", "--max-time", "\(patience.components.seconds)",
                "--output", "-", "--write-out", "\n%{http_code}",
                "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/",
            ])
        for row in HTTPAnswerRow.all {
            let number = listener.number
            startThread {
                let connection = accept(number, nil, nil)
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                defer { close(connection) }
                var buffer = [UInt8](repeating: 0, count: 4_096)
                guard read(connection, &buffer, buffer.count) > 0 else { return }
                _ = send(connection, row.bytes, row.bytes.count, Int32(MSG_NOSIGNAL))
            }
            let output = try run(request).output
            let status = Int(output.suffix(3)) ?? 0
            let passes = (200...399).contains(status)
            compare(row, passes, row.byStatus, "by status: \(status)")
            compare(row, passes && output.dropLast(4).contains("healthy"), row.byBody, "by body")
        }
    }

    private func compare(_ row: HTTPAnswerRow, _ passes: Bool, _ reason: String?, _ how: String) {
        guard passes != (reason == nil) else { return }
        #expect(row.curl == (passes ? .isLaxer : .isStricter), "\(row.testDescription), \(how)")
    }
}
