// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Token bucket")
struct TokenBucketTests {
    private let second: Int64 = 1_000_000_000

    private func admitted(_ bucket: inout TokenBucket, at times: [Int64]) -> [Bool] {
        times.map { bucket.admit(at: Instant(nanoseconds: $0)) }
    }

    @Test("a burst up to the capacity is admitted, and the rest rejected")
    func burst() {
        var bucket = TokenBucket(capacity: 3, perSecond: 1)
        let burst = admitted(&bucket, at: [100, 100, 100, 100, 100])
        #expect(burst == [true, true, true, false, false])
    }

    @Test("tokens return exactly at the rate")
    func refill() {
        var bucket = TokenBucket(capacity: 1, perSecond: 3)
        let third = admitted(&bucket, at: [0, 333_333_333, 333_333_334])
        #expect(third == [true, false, true])
        var steady = TokenBucket(capacity: 2, perSecond: 3)
        let aMinute = admitted(&steady, at: (0..<(60 * 30)).map { second + $0 * second / 30 })
        #expect(abs(aMinute.count { $0 } - 60 * 3) <= 2)
    }

    @Test("a long pause fills the bucket to its capacity, not beyond")
    func rest() {
        var bucket = TokenBucket(capacity: 2, perSecond: 1000)
        let rested = admitted(&bucket, at: [.min, .max, .max, .max])
        #expect(rested == [true, true, true, false])
    }

    @Test("time that goes backward adds and removes nothing")
    func backward() {
        var bucket = TokenBucket(capacity: 1, perSecond: 1)
        let jumpy = admitted(&bucket, at: [10 * second, 0, 10 * second + second / 2, 11 * second])
        #expect(jumpy == [true, false, false, true])
    }

    @Test("absurd parameters are clamped")
    func extremes() {
        var never = TokenBucket(capacity: .min, perSecond: .min)
        #expect(never.capacity == 1)
        let once = admitted(&never, at: [.min, .max])
        #expect(once == [true, false])
        var always = TokenBucket(capacity: .max, perSecond: .max)
        let thousand = admitted(&always, at: Array(0..<1000))
        #expect(thousand.allSatisfy { $0 })
    }

    @Test("a request above the capacity passes when the bucket is full, and delays later ones")
    func large() {
        var bucket = TokenBucket(capacity: 10, perSecond: 2)
        let start = Instant(nanoseconds: 5 * second)
        #expect(bucket.earliest(for: 30) < start)
        bucket.take(30, at: start)
        #expect(bucket.earliest(for: 10) == start + .seconds(15))
        #expect(bucket.earliest(for: 30) == start + .seconds(15))
        #expect(bucket.earliest() == start + .milliseconds(10_500))
        let later = [10_499, 10_500].map { bucket.admit(at: start + .milliseconds($0)) }
        #expect(later == [false, true])
    }
}
