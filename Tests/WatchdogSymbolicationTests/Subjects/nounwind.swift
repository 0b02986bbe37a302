// SPDX-License-Identifier: Apache-2.0
//
// Functions for which `swiftc -O` without -g writes no call frame information: they cannot throw and keep no frame
// pointer. The innermost one blocks in a lock that is never released, or spins.
import Glibc

nonisolated(unsafe) var lock = pthread_mutex_t()
nonisolated(unsafe) var total = 1

@inline(never)
func spins(_ value: Int) -> Int {
    var value = value
    while value != 0 { value = value &* 3 | 1 }
    return value
}

@inline(never)
func locks(_ value: Int) -> Int {
    pthread_mutex_lock(&lock)
    total &+= value
    return total &* 7
}

@inline(never)
func third(_ value: Int, _ how: Int) -> Int {
    total &+= 1
    let result = how == 0 ? locks(value &+ total) : spins(value &+ total)
    return result &* total
}

@inline(never)
func second(_ value: Int, _ how: Int) -> Int {
    let before = total
    total = value
    return third(value ^ 5, how) &+ before
}

@inline(never)
func first(_ value: Int, _ how: Int) -> Int {
    second(value, how) &* 3 &+ total
}

pthread_mutex_init(&lock, nil)
pthread_mutex_lock(&lock)
write(1, "ready\n", 6)
let how = CommandLine.arguments.count > 1 ? 1 : 0
exit(Int32(truncatingIfNeeded: first(Int(getpid()), how)))
