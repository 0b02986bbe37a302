// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("Descriptors of a launch")
struct LaunchDescriptorsTests {
    /// Beyond the reserved numbers, whatever else is open.
    private func high(_ descriptor: OwnedDescriptor) throws -> OwnedDescriptor {
        OwnedDescriptor(taking: try check("duplicate") { fcntl(descriptor.number, F_DUPFD_CLOEXEC, 900) })
    }

    @Test("are lent low numbers, one each, and these are closed afterwards")
    func low() throws {
        let descriptors = LaunchDescriptors()
        try descriptors.reserve()
        let (reading, writing) = try OwnedDescriptor.pipe()
        var passed: [SpawnRequest.PassedDescriptor] = []
        var kept: OwnedDescriptor? = try high(writing)
        if let kept { passed = [.init(kept.number, as: 1), .init(kept.number, as: 7)] }
        let lent = descriptors.withLow(passed) { low in
            for descriptor in low { #expect(write(descriptor.source, "x", 1) == 1) }
            return (low, false)
        }
        #expect(lent.map(\.target) == [1, 7])
        #expect(Set(lent.map(\.source)).count == 2)
        #expect(lent.allSatisfy { $0.source < 900 })
        kept = nil
        withExtendedLifetime(writing) {}
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(read(reading.number, &bytes, 8) == 2)
    }

    @Test("that are low already are passed as they are")
    func asTheyAre() throws {
        let descriptors = LaunchDescriptors()
        try descriptors.reserve()
        let passed = [SpawnRequest.PassedDescriptor(0, as: 5)]
        #expect(descriptors.withLow(passed) { ($0, false) } == passed)
    }

    @Test("reach the program, and the last reader sees their end")
    func program() throws {
        try LaunchDescriptors.shared.reserve()
        let reading: OwnedDescriptor
        do {
            let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
            reading = readEnd
            let output = try high(writeEnd)
            var request = SpawnRequest(executable: "/bin/sh", arguments: ["/bin/sh", "-c", "echo one; echo two >&9"])
            request.descriptors = [.init(output.number, as: 1), .init(output.number, as: 9)]
            _ = try waitForExit(try spawn(request).process)
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let length = read(reading.number, &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(length, 0)), as: UTF8.self) == "one\ntwo\n")
        #expect(read(reading.number, &bytes, bytes.count) == 0)
    }
}
