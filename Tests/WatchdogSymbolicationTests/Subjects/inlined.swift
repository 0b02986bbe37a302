// SPDX-License-Identifier: Apache-2.0
//
// Calls that the compiler must inline.
import Glibc

@inline(__always)
func innermost(_ value: Int) -> Int {
    write(1, "ready\n", 6)
    pause()  // line of innermost
    return value &* 3
}

struct Outer {
    var value: Int

    @inline(__always)
    func between(_ more: Int) -> Int {
        innermost(value &+ more)  // line of between
    }
}

@inline(never)
func container(_ value: Int) -> Int {
    let outer = Outer(value: value)
    return outer.between(2) &+ 1  // line of container
}

exit(Int32(truncatingIfNeeded: container(Int(getpid()))))
