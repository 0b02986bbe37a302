// SPDX-License-Identifier: Apache-2.0

import SampleSupport
import Testing

@Suite("Series")
struct SeriesTests {
    @Test("A walk is the same for the same seed and different for another")
    func walk() {
        #expect(Series.walk(100, seed: 1) == Series.walk(100, seed: 1))
        #expect(Series.walk(100, seed: 1) != Series.walk(100, seed: 2))
    }

    @Test("Smoothing removes the noise and keeps the ends and the level")
    func smoothing() throws {
        let noisy = [5.0, 9, 1, 9, 1, 9, 5]
        let smooth = try #require(Series.smoothed(noisy, passes: 20))
        #expect(smooth.first == 5 && smooth.last == 5)
        #expect(smooth.allSatisfy { abs($0 - 5) < 1 })
    }

    @Test("Smoothing stops at the next safe place when it is canceled")
    func cancellation() {
        var passes = 0
        let result = Series.smoothed([1, 2, 3], passes: 1000) {
            passes += 1
            return passes > 3
        }
        #expect(result == nil)
        #expect(passes == 4)
    }

    @Test("A plot of too few values is blank paper with its lines", arguments: [[], [1], [2, 2, 2]])
    func blankPlot(values: [Double]) {
        #expect(Series.plot(values, width: 20, height: 10) == Series.plot([], width: 20, height: 10))
    }
}
