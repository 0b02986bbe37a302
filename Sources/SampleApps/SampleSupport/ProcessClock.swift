// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The time since this process started.
package enum ProcessClock {
    /// The start of the process on `CLOCK_BOOTTIME`, with a resolution of 10 ms: proc(5), field 22 of stat.
    private static let start: Duration = {
        let stat = (try? Data(contentsOf: URL(filePath: "/proc/self/stat"))) ?? Data()
        // The second field, the name, may contain blanks and parentheses, so search for the last one.
        let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19, let ticks = Int64(fields[19]) else { return read(CLOCK_BOOTTIME) }
        return .milliseconds(ticks * 1000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK)))))
    }()

    package static var now: Duration { read(CLOCK_BOOTTIME) - start }

    /// The CPU time of the calling thread.
    package static var threadTime: Duration { read(CLOCK_THREAD_CPUTIME_ID) }

    /// The time in which the calling thread was runnable without a CPU: the second field of schedstat, in nanoseconds.
    package static var threadDelay: Duration {
        let file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return .zero }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(file, &bytes, bytes.count)
        let fields = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return .nanoseconds(fields.count > 1 ? Int64(fields[1]) ?? 0 : 0)
    }

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension Duration {
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// The duration for people: `12 ms`, `1.25 s`.
    package var text: String {
        if self < .milliseconds(1) { return "\(Int((seconds * 1e6).rounded())) µs" }
        if self < .seconds(1) { return "\(Int((seconds * 1000).rounded())) ms" }
        let hundredths = Int((seconds * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) s"
    }
}
