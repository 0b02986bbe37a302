// SPDX-License-Identifier: Apache-2.0

import Glibc

// Every function uses the result of the one it calls: a tail call would remove its frame from the stack.

@inline(never)
func writeBackCache(within seconds: Double) -> Int {
    let sectors = flushEntries(within: seconds)
    return sectors / 8
}

@inline(never)
func flushEntries(within seconds: Double) -> Int {
    let nanoseconds = seconds.truncatingRemainder(dividingBy: 1) * 1e9
    var (request, rest) = (timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds)), timespec())
    while nanosleep(&request, &rest) != 0, errno == EINTR {
        request = rest
    }
    return 4096
}
