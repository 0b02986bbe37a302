// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// What a test chooses at random: the same in every run with the same seed, which a failure names.
final class Dice: CustomStringConvertible {
    private var generator = SeededGenerator(seed: testSeed)

    var description: String { "WATCHDOGD_TEST_SEED=\(testSeed)" }

    func number(in range: ClosedRange<Int32>) -> Int32 { .random(in: range, using: &generator) }

    /// One time of so many.
    func oneIn(_ count: UInt64) -> Bool { generator.oneIn(count) }

    func pick<T>(_ values: [T]) -> T { generator.pick(values) }
}
