// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogLaunch

@Suite("Encoded state")
struct StateCodingTests {
    private enum Choice: Codable, Hashable {
        case nothing
        case one(Int)
        case several(first: String, second: [Duration?])
        indirect case nested(Choice)
    }

    private struct Empty: Codable, Hashable {}

    private struct Everything: Codable, Hashable {
        var yes = true
        var no = false
        var small = -3
        var numbers = [Int.min, -129, -128, 0, 127, 128, .max]
        var unsigned = [UInt64.max, 0]
        var narrow: UInt8 = 200
        var real = [0.0, -0.0, .infinity, 1.5e300]
        var single: Float = 0.25
        var text = ["", "näme", "a\u{0}b", String(repeating: "x", count: 70_000)]
        var duration = [Duration.zero, .nanoseconds(-1), .seconds(Int64.max), Duration(attoseconds: -7)]
        var absent: String?
        var present: Duration? = .seconds(1)
        var empty = Empty()
        var choices: [Choice] = [
            .nothing, .one(7), .several(first: "a", second: [nil, .seconds(2)]), .nested(.nested(.one(-1))),
        ]
        var lists: [[Int]] = [[], [1], [2, 3]]
        var dictionary = ["a": 1, "b": 2]
        var last = 42
    }

    @Test("All saved values are restored")
    func roundTrip() throws {
        let value = Everything()
        #expect(try StateDecoder.decode(Everything.self, from: StateEncoder.encode(value)) == value)
        #expect(try StateDecoder.decode(Int.self, from: StateEncoder.encode(-5)) == -5)
        #expect(try StateDecoder.decode([Empty].self, from: StateEncoder.encode([Empty(), Empty()])).count == 2)
    }

    private struct Older: Codable {
        var kept = 1
        var dropped = ["something": [1.5]]
        var alsoKept = "text"
    }

    private struct Newer: Codable {
        var alsoKept: String
        var added: Int?
        var kept: Int
    }

    @Test("Fields may be added, omitted and reordered")
    func fields() throws {
        let newer = try StateDecoder.decode(Newer.self, from: StateEncoder.encode(Older()))
        #expect(newer.kept == 1 && newer.alsoKept == "text" && newer.added == nil)
    }

    @Test("A missing field, or one of another type, is rejected")
    func missing() throws {
        struct Other: Codable { var kept: String }
        struct Bare: Codable { var value: Int }
        #expect(throws: (any Error).self) { try StateDecoder.decode(Other.self, from: StateEncoder.encode(Older())) }
        #expect(throws: (any Error).self) { try StateDecoder.decode(Bare.self, from: StateEncoder.encode(Older())) }
        #expect(throws: (any Error).self) { try StateDecoder.decode(UInt8.self, from: StateEncoder.encode(256)) }
        #expect(throws: (any Error).self) { try StateDecoder.decode(Int.self, from: []) }
    }

    @Test("Truncated bytes are rejected at every length")
    func truncated() throws {
        var value = Everything()
        value.text = ["short"]
        let bytes = try StateEncoder.encode(value)
        for length in bytes.indices {
            #expect(throws: (any Error).self) {
                try StateDecoder.decode(Everything.self, from: Array(bytes.prefix(length)))
            }
        }
    }

    @Test("Corrupted bytes are rejected or decode to another value, and are never read beyond their end")
    func changed() throws {
        var value = Everything()
        value.text = ["short"]
        let bytes = try StateEncoder.encode(value)
        var refused = 0
        for index in bytes.indices {
            for bit in 0..<8 where StormScale.isWhole || bit == index % 8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                if (try? StateDecoder.decode(Everything.self, from: damaged)) == nil { refused += 1 }
            }
        }
        #expect(refused > bytes.count / (StormScale.isWhole ? 1 : 8))
    }
}
