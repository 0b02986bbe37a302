// SPDX-License-Identifier: Apache-2.0

/// Operations on series of numbers at equal time steps.
package enum Series {
    /// A random walk, determined by the seed.
    package static func walk(_ count: Int, seed: Int) -> [Double] {
        var state = UInt32(truncatingIfNeeded: seed &* 2_654_435_761) | 1
        var value = 100.0
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            value = max(1, value * (1 + (Double(state % 2001) - 998) / 50_000))
            return value
        }
    }

    /// Replaces each number by the mean of its neighborhood, in several passes.
    ///
    /// - Parameter isCancelled: Called between the passes, where stopping is safe.
    package static func smoothed(_ values: [Double], passes: Int, isCancelled: () -> Bool = { false }) -> [Double]? {
        var (values, next) = (values, values)
        for _ in 0..<passes {
            if isCancelled() { return nil }
            for index in values.indices.dropFirst().dropLast() {
                next[index] = (values[index - 1] + 2 * values[index] + values[index + 1]) / 4
            }
            swap(&values, &next)
        }
        return values
    }

    /// Plots the numbers as a curve.
    package static func plot(_ values: [Double], width: Int, height: Int) -> Raster {
        var raster = Raster(width: width, height: height)
        for line in 1..<4 { raster.fill(0, height * line / 4, width, 1, .pale) }
        guard let low = values.min(), let high = values.max(), high > low, values.count > 1 else { return raster }
        func point(_ index: Int) -> (x: Int, y: Int) {
            (
                index * (width - 1) / (values.count - 1),
                height - 1 - Int((values[index] - low) / (high - low) * Double(height - 1))
            )
        }
        for index in 1..<values.count { raster.line(from: point(index - 1), to: point(index), .accent) }
        return raster
    }
}
