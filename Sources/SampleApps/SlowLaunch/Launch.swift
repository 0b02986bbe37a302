// SPDX-License-Identifier: Apache-2.0

import Glibc

// Every function uses the result of the one it calls: a tail call would remove its frame from the stack.

@inline(never)
func finishLaunching(within seconds: Double) -> Int {
    let rows = openDatabase(within: seconds)
    return max(rows, 0)
}

@inline(never)
func openDatabase(within seconds: Double) -> Int {
    let migrated = migrateDatabase(within: seconds)
    return migrated * 2
}

@inline(never)
func migrateDatabase(within seconds: Double) -> Int {
    let nanoseconds = seconds.truncatingRemainder(dividingBy: 1) * 1e9
    var (request, rest) = (timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds)), timespec())
    while nanosleep(&request, &rest) != 0, errno == EINTR {
        request = rest
    }
    return 1200
}
