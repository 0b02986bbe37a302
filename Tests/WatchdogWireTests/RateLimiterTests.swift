// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogWire

@Suite("Rate limiter")
struct RateLimiterTests {
    private let second: Int64 = 1_000_000_000

    @Test("a burst up to the capacity is admitted, the rest dropped and counted")
    func burst() {
        var limiter = RateLimiter(capacity: 3, refillPerSecond: 1)
        let admitted = (0..<5).map { _ in limiter.admit(at: 100) }
        #expect(admitted == [true, true, true, false, false])
        #expect(limiter.dropped == 2)
    }

    @Test("tokens come back at the rate, exactly")
    func refill() {
        var limiter = RateLimiter(capacity: 1, refillPerSecond: 3)
        #expect(limiter.admit(at: 0))
        #expect(!limiter.admit(at: 333_333_333))
        #expect(limiter.admit(at: 333_333_334))
        let hour = (0..<(3600 * 30)).count { limiter.admit(at: second + Int64($0) * second / 30) }
        #expect(abs(hour - 3600 * 3) <= 1)
    }

    @Test("a long rest fills the bucket to its capacity, not beyond")
    func rest() {
        var limiter = RateLimiter(capacity: 2, refillPerSecond: 1000)
        #expect(limiter.admit(at: .min))
        for _ in 0..<2 { #expect(limiter.admit(at: .max)) }
        #expect(!limiter.admit(at: .max))
    }

    @Test("time that goes backward gives nothing and takes nothing")
    func backward() {
        var limiter = RateLimiter(capacity: 1, refillPerSecond: 1)
        #expect(limiter.admit(at: 10 * second))
        #expect(!limiter.admit(at: 0))
        #expect(!limiter.admit(at: 10 * second + second / 2))
        #expect(limiter.admit(at: 11 * second))
    }

    @Test("absurd parameters are held within bounds")
    func extremes() {
        var never = RateLimiter(capacity: .min, refillPerSecond: .min)
        #expect(never.capacity == 1)
        #expect(never.admit(at: .min))
        #expect(!never.admit(at: .max))
        var always = RateLimiter(capacity: .max, refillPerSecond: .max)
        for step in 0..<1000 as Range<Int64> { #expect(always.admit(at: step)) }
        #expect(always.dropped == 0)
    }
}
