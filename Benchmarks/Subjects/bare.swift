// SPDX-License-Identifier: Apache-2.0

// usage: bare
//
// Functions for which `swiftc -O` without -g writes no call frame information: they cannot throw and keep no frame
// pointer. The innermost one blocks.

import Glibc

struct Record {
    var pid = getpid()
    var kind: Int32 = 2
    var monotonicNanoseconds: Int64 = 0
}

nonisolated(unsafe) var lock = pthread_mutex_t()
nonisolated(unsafe) var total = 1

@inline(never)
func innermost(_ value: Int) -> Int {
    pthread_mutex_lock(&lock)
    total &+= value
    return total &* 7
}

@inline(never)
func third(_ value: Int) -> Int {
    total &+= 1
    return innermost(value &+ total) &* total
}

@inline(never)
func second(_ value: Int) -> Int {
    let before = total
    total = value
    return third(value ^ 5) &+ before
}

@inline(never)
func outermost(_ value: Int) -> Int {
    second(value) &* 3 &+ total
}

alarm(120)
pthread_mutex_init(&lock, nil)
pthread_mutex_lock(&lock)
var record = Record()
write(STDOUT_FILENO, &record, MemoryLayout<Record>.size)
exit(Int32(truncatingIfNeeded: outermost(Int(getpid()))))
