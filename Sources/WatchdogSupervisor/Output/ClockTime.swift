// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time of day for lines on a terminal.
enum ClockTime {
    /// `22:11:03`, the local time.
    static var now: String {
        var seconds = time(nil)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return "??:??:??" }
        return [local.tm_hour, local.tm_min, local.tm_sec].map { ($0 < 10 ? "0" : "") + String($0) }
            .joined(separator: ":")
    }
}
