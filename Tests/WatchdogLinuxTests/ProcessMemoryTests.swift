// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("The memory of this process")
struct ProcessMemoryTests {
    /// Kilobytes of code that are mapped at present.
    private static func residentCode() -> Int {
        let text = String(decoding: Procfs.read("/proc/self/smaps", limit: 1 << 20) ?? [], as: UTF8.self)
        var (sum, isCode) = (0, false)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 1, words[0].contains("-") { isCode = words[1].hasPrefix("r-x") }
            if isCode, words.first == "Rss:" { sum += Int(words[1]) ?? 0 }
        }
        return sum
    }

    @Test("code that was given back is there no more, and runs when it is called again")
    func releasesCode() async {
        await #expect(processExitsWith: .success) {
            let before = Self.residentCode()
            ProcessMemory.releaseCode()
            let after = Self.residentCode()
            #expect(after > 0 && after < before / 2, "\(before) kB before, \(after) kB after")
        }
    }
}
