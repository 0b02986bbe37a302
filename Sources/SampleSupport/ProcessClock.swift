// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The time since this process started.
package enum ProcessClock {
    /// On `CLOCK_BOOTTIME`, which the kernel uses for the start of a process, rounded to 10 ms: proc(5), field 22 of stat.
    private static let start: Duration = {
        let stat = (try? Data(contentsOf: URL(filePath: "/proc/self/stat"))) ?? Data()
        // The second field, the name, may hold blanks and parentheses.
        let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19, let ticks = Int64(fields[19]) else { return read(CLOCK_BOOTTIME) }
        return .milliseconds(ticks * 1000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK)))))
    }()

    /// The time since the process was started.
    package static var now: Duration { read(CLOCK_BOOTTIME) - start }

    /// The CPU time of the calling thread.
    package static var threadTime: Duration { read(CLOCK_THREAD_CPUTIME_ID) }

    /// How long the calling thread was runnable but waited for a CPU: the second field of schedstat, in nanoseconds.
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

    /// As people read it: `12 ms`, `1.25 s`.
    package var text: String {
        if self < .milliseconds(1) { return "\(Int((seconds * 1e6).rounded())) µs" }
        if self < .seconds(1) { return "\(Int((seconds * 1000).rounded())) ms" }
        let hundredths = Int((seconds * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) s"
    }
}
