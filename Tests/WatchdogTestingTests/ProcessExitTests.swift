// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing
import WatchdogLinux

@testable import WatchdogTesting

@Suite("The exit of a runner of tests of real processes")
struct ProcessExitTests {
    @Test("An app is killed when the runner of its test is killed")
    func killedRunner() async throws {
        let path = "/tmp/watchdogd-testing-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        defer { unlink(path) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let app = try await SupervisedApp.launch(.command("/bin/sleep", "600"))
            try "\(try #require(app.processID))".write(toFile: path, atomically: true, encoding: .utf8)
            _ = kill(getpid(), SIGKILL)
        }
        let pid = try #require(Int32(try String(contentsOfFile: path, encoding: .utf8)))
        // It may already be gone.
        guard let process = try? Pidfd(opening: pid) else { return }
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, patienceInMilliseconds) == 1)
    }
}
