// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The kernel's view of the calling thread.
enum CurrentThread {
    /// The thread ID; nil on the process's first thread, and if /proc cannot be read.
    ///
    /// gettid(2) is not visible through the Glibc module; /proc/thread-self reads `PID/task/TID`, see proc(5).
    static var numberUnlessFirst: Int32? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer -> Int32? in
            guard let start = buffer.baseAddress else { return nil }
            let length = readlink("/proc/thread-self", start, buffer.count)
            guard length > 0 else { return nil }
            let target = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let parts = target.split(separator: "/")
            guard let process = parts.first, let thread = parts.last, process != thread else { return nil }
            return Int32(thread)
        }
    }
}
