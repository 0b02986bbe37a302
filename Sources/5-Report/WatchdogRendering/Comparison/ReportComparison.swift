// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// What changed between two incidents.
public struct ReportComparison: Equatable, Sendable {
    /// A value that differs; nil on the side of a report without one.
    public struct Change: Equatable, Sendable, Encodable {
        /// What differs.
        public let what: String
        /// The first report's value.
        public let from: String?
        /// The second report's value.
        public let to: String?
    }

    /// Consecutive calls that are on both stacks or only on one of them.
    public struct StackPart: Equatable, Sendable, Encodable {
        /// Which stacks the calls are on.
        public enum Side: String, Sendable, Encodable {
            case both
            /// Only on the first.
            case from
            /// Only on the second.
            case to
        }

        /// Which stacks the calls are on.
        public let side: Side
        /// The calls, innermost first.
        public internal(set) var calls: [String]
    }

    /// The signatures.
    public let signatures: [Signature]
    /// Differences in app, machine and times.
    public let facts: [Change]
    /// Differences in the verdict.
    public let verdict: [Change]
    /// The stacks of the faulting threads, innermost call first.
    public let stack: [StackPart]
    /// Threads that only the first report has, by name and the app's innermost call.
    public let onlyBefore: [String]
    /// Threads that only the second report has.
    public let onlyAfter: [String]
    /// Images whose builds differ or that only one report has.
    public let images: [Change]

    /// Whether both incidents have the same cause.
    public var isSameSignature: Bool { signatures[0] == signatures[1] }

    /// Compares two reports, the older one first.
    public init(_ old: Report, _ new: Report) {
        signatures = [Signature(of: old), Signature(of: new)]
        facts = Self.changes(Self.facts(old), Self.facts(new))
        verdict = Self.changes(Self.verdict(old), Self.verdict(new))
        stack = Self.stack(old.faultingStack, new.faultingStack)
        let threads = [old, new].map { report in report.stacks.filter { !$0.isFaulting }.map(\.summary) }
        onlyBefore = Self.without(threads[1], in: threads[0])
        onlyAfter = Self.without(threads[0], in: threads[1])
        images = Self.images(old.body, new.body)
    }

    private static func facts(_ report: Report) -> [(String, String?)] {
        let body = report.body
        let linux = body.linux
        return [
            ("app", report.metadata.appName), ("version", body.bundleInfo?.shortVersion),
            ("build", body.bundleInfo?.version), ("executable", body.procPath), ("pid", String(body.pid)),
            ("user", body.userID.map { String($0) }), ("event", report.event), ("taken", body.captureTime),
            ("launched", body.procLaunch), ("role", body.procRole), ("host", linux?.hostName),
            ("system", body.osVersion.map { "\($0.train) (\($0.build))" }), ("machine", body.modelCode),
            ("CPUs", linux.map { String($0.processorCount) }), ("cgroup", linux?.cgroup),
            ("command line", linux?.commandLine.joined(separator: " ")), ("status", linux?.status),
            ("summary", linux?.summary),
        ]
    }

    private static func verdict(_ report: Report) -> [(String, String?)] {
        let linux = report.body.linux
        return [
            ("verdict", linux?.verdict.brief ?? report.body.exception.type),
            ("running", linux?.verdict.runningTenths.map(percentText(tenths:))),
            ("waiting for CPU", linux?.verdict.waitingTenths.map(percentText(tenths:))),
            ("allowance", Explanation.allowance(linux)),
            ("stacks by", linux.map { $0.capture?.method.rawValue ?? "none" }),
            ("kill", linux?.kill.outcome),
        ]
    }

    private static func changes(_ old: [(String, String?)], _ new: [(String, String?)]) -> [Change] {
        zip(old, new).compactMap { old, new in
            old.1 == new.1 ? nil : Change(what: old.0, from: old.1, to: new.1)
        }
    }

    /// Aligns two stacks by their longest common subsequence.
    private static func stack(_ old: ReportStack?, _ new: ReportStack?) -> [StackPart] {
        let from = (old?.calls ?? []).prefix(ReportLimits.framesPerThread).map(\.name)
        let to = (new?.calls ?? []).prefix(ReportLimits.framesPerThread).map(\.name)
        let difference = to.difference(from: from)
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var parts: [StackPart] = []
        func add(_ side: StackPart.Side, _ name: String) {
            if parts.last?.side == side {
                parts[parts.count - 1].calls.append(name)
            } else {
                parts.append(StackPart(side: side, calls: [name]))
            }
        }
        var left = 0
        var right = 0
        while left < from.count || right < to.count {
            if left < from.count, removed.contains(left) {
                add(.from, from[left])
                left += 1
            } else if right < to.count, inserted.contains(right) {
                add(.to, to[right])
                right += 1
            } else {
                if left < from.count { add(.both, from[left]) }
                left += 1
                right += 1
            }
        }
        return parts
    }

    /// The elements of the second list that the first lacks, counting duplicates.
    private static func without(_ known: [String], in all: [String]) -> [String] {
        var counts = Dictionary(known.map { ($0, 1) }, uniquingKeysWith: +)
        return all.filter { element in
            guard let count = counts[element], count > 0 else { return true }
            counts[element] = count - 1
            return false
        }
    }

    private static func images(_ old: ReportBody, _ new: ReportBody) -> [Change] {
        func builds(_ body: ReportBody) -> [String: String] {
            let ids = body.linux?.buildIDs ?? []
            let named = body.usedImages.enumerated().compactMap { index, image -> (String, String)? in
                guard let name = image.name, !name.isEmpty else { return nil }
                return (name, (ids.indices.contains(index) ? ids[index] : nil) ?? image.uuid)
            }
            return Dictionary(named, uniquingKeysWith: { first, _ in first })
        }
        let before = builds(old)
        let after = builds(new)
        return Set(before.keys).union(after.keys).sorted().compactMap { name in
            before[name] == after[name] ? nil : Change(what: name, from: before[name], to: after[name])
        }
    }
}

extension ReportStack {
    /// The thread's name and activity, without numbers that change from run to run.
    fileprivate var summary: String { "\(name ?? "unnamed"): \(activity)" }
}
