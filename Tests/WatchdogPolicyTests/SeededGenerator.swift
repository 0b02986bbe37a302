// SPDX-License-Identifier: Apache-2.0

/// SplitMix64, so that a failing case can be repeated from its seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// One in `count`, cheaper than `Bool.random` in a debug build.
    mutating func oneIn(_ count: UInt64) -> Bool {
        next() % count == 0
    }

    /// A number below `count`.
    mutating func below(_ count: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 1) % count
    }

    mutating func pick<T>(_ values: [T]) -> T {
        values[below(values.count)]
    }
}
