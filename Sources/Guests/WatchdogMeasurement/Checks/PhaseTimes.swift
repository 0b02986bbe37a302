// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The CPU time of the main thread in each phase of a launch: of the fastest of a few recorded launches.
///
/// Other load makes a phase slower, never faster, so the fastest launch is the one that other load has changed least.
public struct PhaseTimes: Codable, Equatable, Sendable {
    /// One phase.
    public struct Phase: Codable, Equatable, Sendable {
        /// The name in recordings: `ownConstructors`.
        public var name: String
        /// The CPU time in nanoseconds.
        public var cpuNSec: Double

        /// Creates a value.
        public init(name: String, cpuNSec: Double) {
            self.name = name
            self.cpuNSec = cpuNSec
        }

        /// The name for people: `own constructors`.
        var title: String {
            name.reduce(into: "") { title, character in
                title += character.isUppercase ? " \(character.lowercased())" : String(character)
            }
        }
    }

    /// The phases in order.
    public private(set) var phases: [Phase] = []

    /// Creates a value without a launch.
    public init() {}

    /// Adds a recorded launch.
    public mutating func add(_ launch: [Phase]) {
        for phase in launch {
            if let index = phases.firstIndex(where: { $0.name == phase.name }) {
                phases[index].cpuNSec = min(phases[index].cpuNSec, phase.cpuNSec)
            } else {
                phases.append(phase)
            }
        }
    }

    /// Adds a recorded launch from the JSON of `watchdogd record`.
    ///
    /// - Returns: false if it is something else, or shows no CPU time.
    mutating func add(recording bytes: [UInt8]) -> Bool {
        guard let recording = try? JSONDecoder().decode(Recording.self, from: Data(bytes)) else { return false }
        let launch = recording.phases.compactMap { phase in
            phase.time.map { Phase(name: phase.kind, cpuNSec: Double($0.running)) }
        }
        add(launch)
        return !launch.isEmpty
    }

    /// The part of a recording that counts: docs/launch-schema.json.
    private struct Recording: Decodable {
        struct Phase: Decodable {
            struct Time: Decodable { let running: Int64 }
            let kind: String
            let time: Time?
        }

        let phases: [Phase]
    }
}

extension PhaseTimes {
    /// A phase that takes longer than in the baseline.
    private struct Growth {
        let phase: Phase
        let base: Double

        var excess: Double { phase.cpuNSec - base }
        /// Whether it is worth a word.
        var isNotable: Bool { excess >= 1e6 && phase.cpuNSec >= 1.1 * base }
        /// Whether no other hour of the same machine explains it.
        var isProof: Bool { excess >= PhaseTimes.leastExcess && phase.cpuNSec >= PhaseTimes.leastFactor * base }

        var words: String {
            "\(phase.title) \(FigureText.time(nanoseconds: base)) → \(FigureText.time(nanoseconds: phase.cpuNSec))"
        }
    }

    /// The growth that fails a check: with less, a phase may only have been measured at a worse moment.
    static let leastFactor = 2.0
    /// The growth in nanoseconds that fails a check.
    static let leastExcess = 5e6

    /// Names the phases that grew; fails if one at least doubled and grew by 5 ms, on the same model of CPU.
    func check(against base: PhaseTimes, isSameCPU: Bool) -> MeasurementCheck {
        let grown = phases.compactMap { phase -> Growth? in
            let earlier = base.phases.first { $0.name == phase.name }?.cpuNSec ?? 0
            let growth = Growth(phase: phase, base: earlier)
            return growth.isNotable ? growth : nil
        }.sorted { $0.excess > $1.excess }
        let text =
            grown.isEmpty
            ? "no phase grew by 10 % and 1 ms of CPU time"
            : "CPU time grew: " + grown.map(\.words).joined(separator: ", ")
        let isProof = isSameCPU && grown.contains(where: \.isProof)
        let outcome: MeasurementCheck.Outcome = isProof ? .failed : grown.isEmpty ? .passed : .advice
        return MeasurementCheck(name: "baseline phases", outcome: outcome, text: text)
    }
}
