// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The seed of tests with random choices: 1, or `WATCHDOGD_TEST_SEED`.
public let testSeed = getenv("WATCHDOGD_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1

/// The same numbers in every run, so that a failing case can be repeated from its seed: SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// True once in `count`; cheaper than `Bool.random` in a debug build.
    package mutating func oneIn(_ count: UInt64) -> Bool {
        next() % count == 0
    }

    /// A number below `count`.
    package mutating func below(_ count: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 1) % count
    }

    /// One of the values.
    package mutating func pick<T>(_ values: [T]) -> T {
        values[below(values.count)]
    }

    /// A standard normal deviate, by Box and Muller.
    package mutating func normal() -> Double {
        (-2 * log(Double.random(in: 1e-12..<1, using: &self))).squareRoot()
            * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }
}
