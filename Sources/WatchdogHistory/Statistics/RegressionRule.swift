// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A version that launches more slowly than the one before it.
public struct LaunchRegression: Equatable, Sendable {
    /// What was compared.
    public enum Measure: String, Sendable {
        /// The CPU time of the launches.
        case cpuTime = "CPU time"
        /// The time until the app was ready.
        case duration = "time until ready"
    }

    /// The app's name.
    public var app: String
    /// The slower version.
    public var version: ProgramVersion
    /// The version before it.
    public var former: ProgramVersion
    /// What was compared.
    public var measure: Measure
    /// The median of the moments of the version before it.
    public var before: Duration
    /// The median of the moments of the slower version.
    public var after: Duration
    /// How much slower: 1.2 is 20 %.
    public var ratio: Double
    /// The probability of such a difference if both versions were alike.
    public var p: Double

    /// One line without the app's name.
    public var text: String {
        let percent = Int(((ratio - 1) * 100).rounded())
        return "launches \(percent) % more slowly since version \(version.text): \(measure.rawValue) "
            + "\(TimeSpan.text(after.rounded(digits: 3))), with \(former.text) \(TimeSpan.text(before.rounded(digits: 3)))"
    }
}

/// Decides whether a new version launches more slowly, beyond the noise.
///
/// Launches at one moment share the machine's state at that moment, so a hundred of them say little more than one. The
/// rule therefore compares moments: launches within half an hour count once, with their median. It judges only when a
/// version has 8, 16, 32 or 64 complete moments, because each further look would be a further chance of a false alarm.
public struct RegressionRule: Equatable, Sendable {
    /// One launch, as the rule sees it.
    public struct Sample: Equatable, Sendable {
        /// When, in microseconds since 1970.
        public var time: Int64
        /// How long it took.
        public var duration: Duration
        /// Its CPU time; nil if unknown.
        public var cpuTime: Duration?

        /// Creates a sample.
        public init(time: Int64, duration: Duration, cpuTime: Duration? = nil) {
            self.time = time
            self.duration = duration
            self.cpuTime = cpuTime
        }
    }

    /// A difference that the rule believes.
    public struct Finding: Equatable, Sendable {
        /// What was compared.
        public var measure: LaunchRegression.Measure
        /// The median of the earlier moments.
        public var before: Duration
        /// The median of the later moments.
        public var after: Duration
        /// How much slower.
        public var ratio: Double
        /// The probability of it if nothing had changed.
        public var p: Double
    }

    /// Launches closer together than this are one moment.
    public static let momentLength: Duration = .seconds(1_800)
    /// The numbers of moments at which the rule judges.
    static let looks = [8, 16, 32, 64]
    /// The fewest moments of the version before.
    static let fewest = 8
    /// The most moments of the version before; the latest count.
    static let most = 64

    /// The largest probability that counts as a difference, and the smallest ratio.
    private static func threshold(_ measure: LaunchRegression.Measure) -> (p: Double, ratio: Double) {
        switch measure {
        case .cpuTime: (0.001, 1.1)
        // A busy machine makes launches slower, but hardly changes what they compute.
        case .duration: (0.000_5, 1.25)
        }
    }

    /// Compares the launches of a version with those of the version before it; nil if there is nothing to report.
    ///
    /// The samples are in order of time. CPU time decides where every sample has it.
    public static func judge(former: [Sample], latest: [Sample]) -> Finding? {
        // The last moment may be incomplete.
        let later = moments(latest).dropLast()
        let earlier = moments(former).suffix(most)
        guard looks.contains(later.count), earlier.count >= fewest else { return nil }
        let hasCPUTime = (former + latest).allSatisfy { $0.cpuTime != nil }
        let measure: LaunchRegression.Measure = hasCPUTime ? .cpuTime : .duration
        let value = { (sample: Sample) in
            Double((measure == .cpuTime ? sample.cpuTime ?? .zero : sample.duration).wholeMicroseconds)
        }
        let old = earlier.compactMap { $0.map(value).median }
        let new = later.compactMap { $0.map(value).median }
        let threshold = threshold(measure)
        guard let test = RankTest(old, new), test.p < threshold.p, test.ratio >= threshold.ratio,
            let before = old.median, let after = new.median
        else { return nil }
        return Finding(
            measure: measure, before: .microseconds(Int64(before)), after: .microseconds(Int64(after)),
            ratio: test.ratio, p: test.p)
    }

    private static func moments(_ samples: [Sample]) -> [[Sample]] {
        var moments: [[Sample]] = []
        var start = Int64.min
        for sample in samples {
            // A clock that was set back begins a moment too.
            if moments.isEmpty || sample.time < start || sample.time - start >= momentLength.wholeMicroseconds {
                moments.append([])
                start = sample.time
            }
            moments[moments.count - 1].append(sample)
        }
        return moments
    }
}
