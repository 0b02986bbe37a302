// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// The page's description of the machine.
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

    /// The CPU time that was used since boot, by everybody and by the benchmarks.
    struct Usage {
        private let everybody: Double
        private let own: Double
        private let available: Double

        static func now() -> Usage {
            let ticks = lines(of: "/proc/stat").first?.split(separator: " ").dropFirst().compactMap { Double($0) } ?? []
            let total = ticks.prefix(8).reduce(0, +)
            // proc_stat(5): the fourth number is idle time, the fifth waits for I/O; guests count as user time.
            let idle = ticks.dropFirst(3).prefix(2).reduce(0, +)
            let perSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
            return Usage(everybody: (total - idle) / perSecond, own: ownSeconds(), available: total / perSecond)
        }

        /// With everything that was started and reaped, directly or by a program that was.
        private static func ownSeconds() -> Double {
            [RUSAGE_SELF, RUSAGE_CHILDREN].reduce(0) { sum, who in
                var usage = rusage()
                getrusage(__rusage_who_t(who.rawValue), &usage)
                return sum
                    + [usage.ru_utime, usage.ru_stime].reduce(0) {
                        $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
                    }
            }
        }

        /// The percentage of all CPU time since `earlier` that other processes used.
        func othersPercentage(since earlier: Usage) -> Int {
            let others = (everybody - earlier.everybody) - (own - earlier.own)
            return Int((100 * max(0, others) / max(1e-9, available - earlier.available)).rounded())
        }
    }

    /// A process's share of memory in MB.
    static func proportionalMemory(of pid: Int32) throws -> Double {
        let line = lines(of: "/proc/\(pid)/smaps_rollup").first { $0.hasPrefix("Pss:") }
        guard let line, let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
            throw Failure("/proc/\(pid)/smaps_rollup cannot be read")
        }
        return kilobytes / 1024
    }

    static func lines(of path: String) -> [Substring] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let next = getc(file), next >= 0 { bytes.append(UInt8(next)) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
