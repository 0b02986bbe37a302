// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The schedule for retrying missing names")
struct NamingTriesTests {
    private typealias Tries = NamingTries<String>

    private let start = Instant(nanoseconds: 1_000)
    private let delays: [Duration] = [.seconds(5), .seconds(30)]

    private func tries(_ count: Int = 1) -> Tries {
        var tries = Tries(delays: delays, limit: .init(bytes: 100, descriptors: 10))
        for number in 0..<count {
            let hasRoom = tries.reserve(.init(bytes: 1, descriptors: 1))
            #expect(hasRoom)
            tries.add("\(number)", .init(bytes: 1, descriptors: 1), at: start)
        }
        return tries
    }

    private func take(_ tries: inout Tries, at now: Instant) throws -> Tries.Entry {
        let entry = tries.next(at: now)
        return try #require(entry)
    }

    @Test("retries only after the delay, and for the last time after the last delay")
    func delay() throws {
        var tries = tries()
        #expect(tries.due == start + delays[0])
        let early = tries.next(at: start + delays[0] - .nanoseconds(1))
        #expect(early?.job == nil)
        let first = try take(&tries, at: start + delays[0])
        #expect(first.job == "0" && !first.isLast)
        let failedAt = start + .seconds(100)
        tries.failed(first, at: failedAt)
        let tooEarly = tries.next(at: failedAt + delays[1] - .nanoseconds(1))
        #expect(tooEarly?.job == nil)
        let last = try take(&tries, at: failedAt + delays[1])
        #expect(last.isLast)
        #expect(tries.count == 1)
        tries.finished(last)
        #expect(tries.count == 0 && tries.due == nil)
    }

    @Test("retries in order of due times")
    func order() throws {
        var tries = tries()
        let room = tries.reserve(.init())
        #expect(room)
        tries.add("later", .init(), at: start + .seconds(1))
        let names = [tries.next(at: start + .seconds(60))?.job, tries.next(at: start + .seconds(60))?.job]
        #expect(names == ["0", "later"])
    }

    @Test("retries every report once more, immediately, when watchdogd exits")
    func hurry() throws {
        var tries = tries(2)
        let running = try take(&tries, at: start + delays[0])
        tries.hurry(at: start + delays[0])
        let waiting = try take(&tries, at: start + delays[0])
        #expect(waiting.isLast)
        tries.failed(running, at: start + .seconds(6))
        let again = try take(&tries, at: start + .seconds(6))
        #expect(again.isLast)
        let room = tries.reserve(.init())
        #expect(room)
        tries.add("new", .init(), at: start + .seconds(7))
        let new = try take(&tries, at: start + .seconds(7))
        #expect(new.isLast)
    }

    @Test("limits waiting reports in number, bytes and descriptors, and frees that room again")
    func limits() throws {
        var tries = Tries(delays: delays, limit: .init(bytes: 100, descriptors: 10))
        let admissions = [
            tries.reserve(.init(bytes: 60, descriptors: 6)), tries.reserve(.init(bytes: 41, descriptors: 1)),
            tries.reserve(.init(bytes: 1, descriptors: 5)), tries.reserve(.init(bytes: 40, descriptors: 4)),
        ]
        #expect(admissions == [true, false, false, true])
        tries.release(.init(bytes: 60, descriptors: 6))
        let again = tries.reserve(.init(bytes: 60, descriptors: 6))
        #expect(again)
        var many = Tries(delays: delays, limit: .init(bytes: 100, descriptors: 10))
        let reservations = (0...Tries.countLimit).map { _ in many.reserve(.init()) }
        #expect(reservations.count(where: { $0 }) == Tries.countLimit && reservations.last == false)
        var none = Tries(delays: [], limit: .init(bytes: 100, descriptors: 10))
        let isAdmitted = none.reserve(.init())
        #expect(!isAdmitted)
    }
}
