// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import TestSupport
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

/// Reports changed by a disk, an editor or an attacker.
@Suite("Changed reports")
struct MutationTests {
    /// xorshift64*: the same changes in every run.
    struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state >> 12
            state ^= state << 25
            state ^= state >> 27
            return state &* 2_685_821_657_736_338_717
        }
    }

    private static let seeds: [UInt64] = [1, 2, 3, 5, 8, 13]

    private static func source(_ random: inout Random) throws -> [UInt8] {
        let all = (Causes.all + Samples.goldens).map(\.report)
        return try ReportCoding.encode(all[Int.random(in: all.indices, using: &random)])
    }

    /// Uses a report in every way that readers do; none may trap, and no text may control a terminal.
    private static func readEverything(_ report: Report) {
        for (name, text) in [
            ("show", TextRenderer.render(report)), ("explain", Explanation(of: report).text),
            ("diff", ReportComparison(report, Samples.report()).text),
            ("group", ReportGroup.text(ReportGroup.grouping([report]))), ("html", HTMLRenderer.render(report)),
        ] {
            #expect(text.utf8.count < 64 << 20)
            let steering = text.split(separator: "\n").first { line in
                // Tabs are part of Apple's layout.
                line.unicodeScalars.contains { $0.value < 0x20 && $0 != "\t" || (0x7f...0x9f).contains($0.value) }
            }
            #expect(steering == nil, "\(name)")
        }
        _ = MetricKitPayload(report).json
        _ = Explanation(of: report).json
    }

    @Test(
        "With bytes replaced, removed and repeated, a report is shown in part or rejected, in bounded time",
        arguments: seeds)
    func bytes(seed: UInt64) throws {
        var random = Random(state: seed)
        let clock = SuspendingClock()
        let started = clock.now
        var shown = 0
        let rounds = StormScale.part(of: 60)
        for _ in 0..<rounds {
            var bytes = try Self.source(&random)
            for _ in 0..<Int.random(in: 1...24, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0 ... .max, using: &random)
                case 1: bytes.removeSubrange(place..<min(place + Int.random(in: 1...64, using: &random), bytes.count))
                case 2: bytes.insert(contentsOf: bytes[place..<min(place + 200, bytes.count)], at: place)
                default: bytes[place] = Array("{}[]\",:9".utf8).randomElement(using: &random) ?? 0
                }
                if bytes.isEmpty { bytes = [0] }
            }
            guard let (report, _) = try? ReportCoding.salvage(bytes) else { continue }
            shown += 1
            Self.readEverything(report)
        }
        #expect(shown > rounds / 6)
        // Some 2 s in a debug build; a quadratic algorithm would take minutes.
        #expect(clock.now - started < patience)
    }

    @Test("With values replaced by others of their kind, every reader finishes", arguments: seeds)
    func values(seed: UInt64) throws {
        var random = Random(state: seed)
        for _ in 0..<StormScale.part(of: 30) {
            let bytes = try Self.source(&random)
            let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
            let tree = try JSONDecoder().decode(JSONTree.self, from: Data(parts[1]))
            let changed = Self.changed(tree, &random)
            let file = Array(parts[0]) + [UInt8(ascii: "\n")] + (try JSONEncoder().encode(changed))
            guard let (report, _) = try? ReportCoding.salvage(file) else { continue }
            Self.readEverything(report)
        }
    }

    private static let integers: [Int64] = [.min, -1, 0, 1, 63, 1 << 31, 1 << 53, .max]
    private static let texts = [
        "", "\u{1b}[2J\u{9b}31m", "</script><script>alert(1)</script>", String(repeating: "é\u{202e}", count: 3_000),
        "0 0x0", "\0", "%s%n", "a/b\nThread 0 Crashed:",
    ]

    /// Replaces one in twenty values.
    private static func changed(_ tree: JSONTree, _ random: inout Random) -> JSONTree {
        let isChanged = Int.random(in: 0..<20, using: &random) == 0
        switch tree {
        case .array(let elements):
            var elements = elements.map { changed($0, &random) }
            if isChanged, let first = elements.first { elements += Array(repeating: first, count: 300) }
            return .array(isChanged && Bool.random(using: &random) ? [] : elements)
        case .object(let members):
            var members = members
            // In a fixed order, because a dictionary's own differs from run to run.
            for key in members.keys.sorted() { members[key] = members[key].map { changed($0, &random) } }
            if isChanged, let key = members.keys.sorted().randomElement(using: &random) { members[key] = nil }
            return .object(members)
        case .integer, .unsigned, .fraction:
            return isChanged ? .integer(integers.randomElement(using: &random) ?? 0) : tree
        case .text: return isChanged ? .text(texts.randomElement(using: &random) ?? "") : tree
        case .bool(let value): return .bool(isChanged ? !value : value)
        case .null: return tree
        }
    }
}
