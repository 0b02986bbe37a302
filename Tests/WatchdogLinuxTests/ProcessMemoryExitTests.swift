// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("The memory of this process")
struct ProcessMemoryExitTests {
    /// Kilobytes of resident code and constants, unmodified from their files.
    private static func residentProgram() -> Int {
        let text = String(decoding: Procfs.read("/proc/self/smaps", limit: 1 << 20) ?? [], as: UTF8.self)
        var (sum, isFixed) = (0, false)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 1, words[0].contains("-") { isFixed = words[1].hasPrefix("r-") }
            if isFixed, ["Private_Clean:", "Shared_Clean:"].contains(words.first) { sum += Int(words[1]) ?? 0 }
        }
        return sum
    }

    @Test("released pages are gone, and are mapped again on use")
    func releasesProgram() async {
        await #expect(processExitsWith: .success) {
            let before = Self.residentProgram()
            ProcessMemory.releaseProgram()
            let after = Self.residentProgram()
            #expect(after > 0 && after < before / 2, "\(before) kB before, \(after) kB after")
        }
    }
}
