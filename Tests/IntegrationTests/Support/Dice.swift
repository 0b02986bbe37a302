// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// A test's random choices: the same in every run with the same seed, which a failure names.
final class Dice: CustomStringConvertible {
    private var generator = SeededGenerator(seed: testSeed)

    var description: String { "WATCHDOGD_TEST_SEED=\(testSeed)" }

    func number(in range: ClosedRange<Int32>) -> Int32 { .random(in: range, using: &generator) }

    /// True once in `count` times.
    func oneIn(_ count: UInt64) -> Bool { generator.oneIn(count) }

    func pick<T>(_ values: [T]) -> T { generator.pick(values) }
}
