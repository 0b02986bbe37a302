// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogWire

@Suite("Rate limiter")
struct RateLimiterTests {
    private let second: Int64 = 1_000_000_000

    private func admitted(_ limiter: inout RateLimiter, at times: [Int64]) -> [Bool] {
        times.map { limiter.admit(at: $0) }
    }

    @Test("a burst up to the capacity is admitted, the rest dropped and counted")
    func burst() {
        var limiter = RateLimiter(capacity: 3, refillPerSecond: 1)
        let burst = admitted(&limiter, at: [100, 100, 100, 100, 100])
        #expect(burst == [true, true, true, false, false])
        #expect(limiter.dropped == 2)
    }

    @Test("tokens come back at the rate, exactly")
    func refill() {
        var limiter = RateLimiter(capacity: 1, refillPerSecond: 3)
        let third = admitted(&limiter, at: [0, 333_333_333, 333_333_334])
        #expect(third == [true, false, true])
        var steady = RateLimiter(capacity: 2, refillPerSecond: 3)
        let aMinute = admitted(&steady, at: (0..<(60 * 30)).map { second + $0 * second / 30 })
        #expect(abs(aMinute.count { $0 } - 60 * 3) <= 2)
    }

    @Test("a long rest fills the bucket to its capacity, not beyond")
    func rest() {
        var limiter = RateLimiter(capacity: 2, refillPerSecond: 1000)
        let rested = admitted(&limiter, at: [.min, .max, .max, .max])
        #expect(rested == [true, true, true, false])
    }

    @Test("time that goes backward gives nothing and takes nothing")
    func backward() {
        var limiter = RateLimiter(capacity: 1, refillPerSecond: 1)
        let jumpy = admitted(&limiter, at: [10 * second, 0, 10 * second + second / 2, 11 * second])
        #expect(jumpy == [true, false, false, true])
    }

    @Test("absurd parameters are held within bounds")
    func extremes() {
        var never = RateLimiter(capacity: .min, refillPerSecond: .min)
        #expect(never.capacity == 1)
        let once = admitted(&never, at: [.min, .max])
        #expect(once == [true, false])
        var always = RateLimiter(capacity: .max, refillPerSecond: .max)
        let thousand = admitted(&always, at: Array(0..<1000))
        #expect(thousand.allSatisfy { $0 })
        #expect(always.dropped == 0)
    }
}
