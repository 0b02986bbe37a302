// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A version that launches more slowly than the previous one.
public struct LaunchRegression: Equatable, Sendable {
    /// The compared quantity.
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
    /// The previous version.
    public var former: ProgramVersion
    /// The compared quantity.
    public var measure: Measure
    /// The median of the previous version's moments.
    public var before: Duration
    /// The median of the slower version's moments.
    public var after: Duration
    /// The slowdown: 1.2 is 20 %.
    public var ratio: Double
    /// The probability of such a difference if both versions were equally fast.
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
/// Launches at one moment share the machine's state at that moment, so they are not independent. The rule therefore
/// compares moments: launches within half an hour count once, with their median. It judges only when a version has 8,
/// 16, 32 or 64 complete moments, because each test is another chance of a false alarm.
public struct RegressionRule: Equatable, Sendable {
    /// The data of one launch for the rule.
    public struct Sample: Equatable, Sendable {
        /// The time, in microseconds since 1970.
        public var time: Int64
        /// The duration.
        public var duration: Duration
        /// The CPU time; nil if unknown.
        public var cpuTime: Duration?

        /// Creates a sample.
        public init(time: Int64, duration: Duration, cpuTime: Duration? = nil) {
            self.time = time
            self.duration = duration
            self.cpuTime = cpuTime
        }
    }

    /// A significant difference.
    public struct Finding: Equatable, Sendable {
        /// The compared quantity.
        public var measure: LaunchRegression.Measure
        /// The median of the earlier moments.
        public var before: Duration
        /// The median of the later moments.
        public var after: Duration
        /// The slowdown.
        public var ratio: Double
        /// The probability of such a difference by chance.
        public var p: Double
    }

    /// Launches closer together than this count as one moment.
    public static let momentLength: Duration = .seconds(1_800)
    /// The numbers of moments at which the rule judges.
    static let looks = [8, 16, 32, 64]
    /// The minimum number of moments of the previous version.
    static let fewest = 8
    /// The maximum number of moments of the previous version; the latest are used.
    static let most = 64

    /// The maximum probability and the minimum ratio of a significant difference.
    private static func threshold(_ measure: LaunchRegression.Measure) -> (p: Double, ratio: Double) {
        switch measure {
        case .cpuTime: (0.001, 1.1)
        // Stricter than for CPU time: a busy machine slows down launches, but hardly changes their CPU time.
        case .duration: (0.000_5, 1.25)
        }
    }

    /// Compares the launches of a version with those of the previous one; nil without a significant slowdown.
    ///
    /// The samples are in order of time. CPU time is used if every sample has it.
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
            // A clock that was set back starts a new moment, too.
            if moments.isEmpty || sample.time < start || sample.time - start >= momentLength.wholeMicroseconds {
                moments.append([])
                start = sample.time
            }
            moments[moments.count - 1].append(sample)
        }
        return moments
    }
}
