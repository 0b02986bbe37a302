// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension Fault {
    /// Why a text is not a fault.
    public struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence without a period, with what to write instead.
        public let description: String
    }

    /// The first words of all faults.
    public static let names = [
        "stop", "main-hang", "cpu", "cpu-quota", "memory", "io-slow", "disk-full", "network", "clock", "kill-watchdogd",
    ]
    /// More processes than any machine needs to have none of its CPUs left.
    private static let mostProcesses = 1_024

    /// Parses a fault such as `stop SPAN`, `cpu N` or `network loss P%`, then `at MOMENT` and `for SPAN` in any order.
    ///
    /// A moment is `launch` or `ready`, perhaps with `+SPAN`; `+SPAN` alone counts from the launch. Without one, `cpu`,
    /// `io-slow` and `network` begin at the launch, except `network cut`, and the others when the app is ready.
    ///
    /// - Throws: ``SyntaxError``.
    public init(parsing text: String) throws(SyntaxError) {
        var words = text.split(separator: " ").map(String.init)
        guard let name = words.first else {
            throw SyntaxError(description: "the fault is empty; use \(Self.list(Self.names))")
        }
        words.removeFirst()
        let isClause = { (word: String) in word == "at" || word == "for" }
        let value = words.prefix { !isClause($0) }
        var rest = words.dropFirst(value.count)
        var clauses: [String: String] = [:]
        while let clause = rest.popFirst() {
            let words = rest.prefix { !isClause($0) }
            rest = rest.dropFirst(words.count)
            guard clauses.updateValue(words.joined(), forKey: clause) == nil else {
                throw SyntaxError(description: "\"\(clause)\" is given twice; leave one out")
            }
        }
        let moment = try clauses["at"].map { text throws(SyntaxError) in try Self.moment(text) }
        let duration = try clauses["for"].map { text throws(SyntaxError) in try Self.span(text) }
        try self.init(name, Array(value), moment, duration)
        if kind.isLimit, let clause = ["at", "for"].first(where: { clauses[$0] != nil }) {
            throw SyntaxError(
                description: "\(name) applies from the launch until the app exits; leave out \"\(clause)\"")
        }
    }

    private init(
        _ name: String, _ words: [String], _ moment: Moment?, _ duration: Duration?
    ) throws(SyntaxError) {
        let value = words.joined()
        switch name {
        case "stop", "main-hang":
            let length = try Self.length(of: name, value, duration)
            self.init(name == "stop" ? .stop : .mainHang, at: moment ?? Moment(.ready), for: length)
        case "cpu":
            guard let processes = Int(value), (1...Self.mostProcesses).contains(processes) else {
                throw SyntaxError(
                    description:
                        "cpu needs a number of processes from 1 to \(Self.mostProcesses); write for example cpu 4")
            }
            self.init(.cpu(processes: processes), at: moment ?? Moment(.launch), for: duration)
        case "cpu-quota":
            guard value.hasSuffix("%"), let percent = Int(value.dropLast()), (1...10_000).contains(percent) else {
                throw SyntaxError(
                    description: "cpu-quota needs a share of one CPU from 1% to 10000%; write for example cpu-quota 20%"
                )
            }
            self.init(.cpuQuota(percent: percent), at: moment ?? Moment(.launch), for: duration)
        case "memory":
            self.init(.memory(try Self.size(value, of: "memory")), at: moment ?? Moment(.launch), for: duration)
        case "disk-full":
            let isOneWord = value.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
            guard value.hasPrefix("/"), value.utf8.count > 1, value.utf8.count < 1_024, isOneWord, words.count == 1
            else {
                throw SyntaxError(
                    description:
                        "disk-full needs the absolute path of a folder, without blanks; write for example"
                        + " disk-full /var/lib/app")
            }
            self.init(.diskFull(value), at: moment ?? Moment(.ready), for: duration)
        case "io-slow":
            let bytes = value.isEmpty ? Self.slowDisk : try Self.size(value, of: "io-slow")
            self.init(.ioSlow(bytesPerSecond: bytes), at: moment ?? Moment(.launch), for: duration)
        case "network":
            let network = try Self.network(words)
            guard network == .cut else {
                self.init(.network(network), at: moment ?? Moment(.launch), for: duration)
                return
            }
            let length = try Self.length(of: "network cut", words.dropFirst().joined(), duration)
            self.init(.network(.cut), at: moment ?? Moment(.ready), for: length)
        case "clock":
            guard value.hasPrefix("+") else {
                throw SyntaxError(
                    description: "clock needs a span with a plus, because a clock can only be ahead;"
                        + " write for example clock +1h")
            }
            self.init(.clock(ahead: try Self.span(String(value.dropFirst()))), at: Moment(.launch), for: duration)
        case "kill-watchdogd":
            guard value.isEmpty, duration == nil else {
                throw SyntaxError(
                    description: "kill-watchdogd has no value and no length; write for example"
                        + " kill-watchdogd at ready+2s")
            }
            self.init(.killWatchdogd, at: moment ?? Moment(.ready))
        default:
            let suggestion = Similarity.nearest(to: name, among: Self.names).map { "did you mean \($0)?" }
            throw SyntaxError(description: "unknown fault \"\(name)\"; \(suggestion ?? "use \(Self.list(Self.names))")")
        }
    }

    /// Bytes per second of `io-slow` without a value: a memory card's.
    private static let slowDisk: UInt64 = 1 << 20

    /// The length of a fault, which stands after its name or after `for`.
    private static func length(
        of name: String, _ value: String, _ duration: Duration?
    ) throws(SyntaxError) -> Duration {
        guard value.isEmpty != (duration == nil) else {
            throw SyntaxError(description: "\(name) needs one length; write for example \(name) 2s")
        }
        return if let duration { duration } else { try span(value) }
    }

    private static func network(_ words: [String]) throws(SyntaxError) -> Network {
        let value = words.dropFirst().joined()
        switch words.first {
        case "cut": return .cut
        case "loss":
            guard value.hasSuffix("%"), let percent = Int(value.dropLast()), (1...100).contains(percent) else {
                throw SyntaxError(
                    description: "network loss needs a share from 1% to 100%; write for example network loss 20%")
            }
            return .loss(percent: percent)
        case "dns-delay": return .dnsDelay(try span(value))
        case let name? where words.count == 1 && name.utf8.count <= 32: return .profile(name)
        default:
            throw SyntaxError(
                description: "network needs a profile, loss P%, dns-delay SPAN or cut SPAN; write for example"
                    + " network 3g")
        }
    }

    private static func moment(_ text: String) throws(SyntaxError) -> Moment {
        let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let origin = parts[0].isEmpty && parts.count > 1 ? .launch : Moment.Origin(rawValue: parts[0])
        guard let origin else {
            throw SyntaxError(
                description: "\"\(text)\" is not a moment; write at launch, at ready, at ready+2s or at +5s")
        }
        return Moment(origin, delay: parts.count > 1 ? try span(parts[1]) : .zero)
    }

    private static func span(_ text: String) throws(SyntaxError) -> Duration {
        let span: Duration
        do {
            span = try TimeSpan.parse(text)
        } catch {
            throw SyntaxError(description: error.description)
        }
        guard span >= .milliseconds(1) else { throw SyntaxError(description: "use at least 1 ms") }
        return span
    }

    private static func size(_ text: String, of name: String) throws(SyntaxError) -> UInt64 {
        let units: [Character: Int] = ["K": 10, "M": 20, "G": 30]
        let shift = text.last.flatMap { units[$0] }
        let number = UInt64(shift == nil ? text[...] : text.dropLast())
        guard let number, number > 0, number <= (1 << 50) >> UInt64(shift ?? 0) else {
            throw SyntaxError(
                description: "\(name) needs a size in bytes, or with K, M or G; write for example \(name) 64M")
        }
        return number << UInt64(shift ?? 0)
    }

    private static func list(_ names: [String]) -> String {
        names.dropLast().joined(separator: ", ") + " or \(names[names.count - 1])"
    }
}
