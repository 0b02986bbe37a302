// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy

/// What the page says of the machine.
enum Machine {
    static func description() -> String {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let model =
            lines(of: "/proc/cpuinfo").first { $0.hasPrefix("model name") }?.split(separator: ":").last?
            .drop { $0 == " " } ?? "unknown CPU"
        return "\(sysconf(Int32(_SC_NPROCESSORS_ONLN))) × \(model), Linux \(release)"
    }

    static func date() -> String {
        var time = Glibc.time(nil)
        var local = tm()
        localtime_r(&time, &local)
        func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(local.tm_year + 1900)-\(twoDigits(local.tm_mon + 1))-\(twoDigits(local.tm_mday))"
    }

    /// What all CPUs together did during half a second in which the benchmarks do nothing, in percent.
    static func busyPercentage() -> Int {
        let before = cpuTicks()
        usleep(500_000)
        let after = cpuTicks()
        let total = after.reduce(0, +) - before.reduce(0, +)
        // proc_stat(5): the fourth number is idle time, the fifth waits for I/O.
        let idle = after.dropFirst(3).prefix(2).reduce(0, +) - before.dropFirst(3).prefix(2).reduce(0, +)
        return total > 0 ? 100 - 100 * idle / total : 0
    }

    private static func cpuTicks() -> [Int] {
        lines(of: "/proc/stat").first?.split(separator: " ").dropFirst().compactMap { Int($0) } ?? []
    }

    static func lines(of path: String) -> [Substring] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let next = getc(file), next >= 0 { bytes.append(UInt8(next)) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
