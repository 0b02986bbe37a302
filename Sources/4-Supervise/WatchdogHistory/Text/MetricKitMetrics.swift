// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One day of an app in the form of MetricKit's metrics, for collectors that accept them.
///
/// The keys are those of `MXMetricPayload`'s JSON: `MXAppLaunchMetric`, `MXAppResponsivenessMetric` and
/// `MXAppExitMetric`. The time to first draw is the time until the app was ready if it reports no first frame. An
/// extended launch lasts until the first frame has been drawn and all launch tasks have ended; that of an app without
/// launch tasks lasts until it is useful.
public struct MetricKitMetrics: Encodable, Equatable, Sendable {
    /// The source of the payload.
    struct Day {
        var app: String
        /// The number of the day since 1970, in UTC.
        var day: Int64
        var version = ProgramVersion()
        var hasSeveralVersions = false
        var firstDraws = DurationBuckets()
        var extendedLaunches = DurationBuckets()
        var resumes = DurationBuckets()
        var hangs = DurationBuckets()
        var foregroundExits: [KeptTermination.Reason: Int] = [:]
        var backgroundExits: [KeptTermination.Reason: Int] = [:]
    }

    private struct Bucket: Encodable, Equatable, Sendable {
        let bucketCount: Int
        let bucketStart: String
        let bucketEnd: String
    }

    private struct Histogram: Encodable, Equatable, Sendable {
        let histogramNumBuckets: Int
        let histogramValue: [String: Bucket]

        init?(_ durations: DurationBuckets) {
            let ranges = durations.ranges
            guard !ranges.isEmpty else { return nil }
            histogramNumBuckets = ranges.count
            histogramValue = Dictionary(
                uniqueKeysWithValues: ranges.enumerated().map { index, range in
                    (
                        "\(index)",
                        Bucket(
                            bucketCount: range.count, bucketStart: Self.text(range.from),
                            bucketEnd: Self.text(range.to))
                    )
                })
        }

        /// Milliseconds, with microseconds as decimals if there are any.
        private static func text(_ duration: Duration) -> String {
            let microseconds = duration.wholeMicroseconds
            var fraction = (microseconds % 1_000).padded(3)
            while fraction.last == "0" { fraction.removeLast() }
            return "\(microseconds / 1_000)" + (fraction.isEmpty ? "" : ".\(fraction)") + " ms"
        }
    }

    private struct Launches: Encodable, Equatable, Sendable {
        let histogrammedTimeToFirstDrawKey: Histogram?
        let histogrammedExtendedLaunch: Histogram?
        let histogrammedResumeTime: Histogram?
    }

    private struct Responsiveness: Encodable, Equatable, Sendable {
        let histogrammedAppHangTime: Histogram?
    }

    private struct ForegroundExits: Encodable, Equatable, Sendable {
        let cumulativeNormalAppExitCount: Int
        let cumulativeAbnormalExitCount: Int
        let cumulativeAppWatchdogExitCount: Int
        let cumulativeBadAccessExitCount: Int
        let cumulativeIllegalInstructionExitCount: Int
        let cumulativeMemoryResourceLimitExitCount: Int

        init(_ counts: [KeptTermination.Reason: Int]) {
            cumulativeNormalAppExitCount = counts[.normal] ?? 0
            // Apple has no class for these in the foreground.
            cumulativeAbnormalExitCount = [.abnormal, .lockedFile, .cpuLimit, .backgroundTask]
                .reduce(0) { $0 + (counts[$1] ?? 0) }
            cumulativeAppWatchdogExitCount = counts[.watchdog] ?? 0
            cumulativeBadAccessExitCount = counts[.badAccess] ?? 0
            cumulativeIllegalInstructionExitCount = counts[.illegalInstruction] ?? 0
            cumulativeMemoryResourceLimitExitCount = counts[.memory] ?? 0
        }
    }

    private struct BackgroundExits: Encodable, Equatable, Sendable {
        let cumulativeNormalAppExitCount: Int
        let cumulativeAbnormalExitCount: Int
        let cumulativeAppWatchdogExitCount: Int
        let cumulativeBadAccessExitCount: Int
        let cumulativeIllegalInstructionExitCount: Int
        let cumulativeMemoryResourceLimitExitCount: Int
        /// Always 0: it is not distinguished from the memory limit.
        var cumulativeMemoryPressureExitCount = 0
        let cumulativeCPUResourceLimitExitCount: Int
        let cumulativeSuspendedWithLockedFileExitCount: Int
        let cumulativeBackgroundTaskAssertionTimeoutExitCount: Int

        init(_ counts: [KeptTermination.Reason: Int]) {
            cumulativeNormalAppExitCount = counts[.normal] ?? 0
            cumulativeAbnormalExitCount = counts[.abnormal] ?? 0
            cumulativeAppWatchdogExitCount = counts[.watchdog] ?? 0
            cumulativeBadAccessExitCount = counts[.badAccess] ?? 0
            cumulativeIllegalInstructionExitCount = counts[.illegalInstruction] ?? 0
            cumulativeMemoryResourceLimitExitCount = counts[.memory] ?? 0
            cumulativeCPUResourceLimitExitCount = counts[.cpuLimit] ?? 0
            cumulativeSuspendedWithLockedFileExitCount = counts[.lockedFile] ?? 0
            cumulativeBackgroundTaskAssertionTimeoutExitCount = counts[.backgroundTask] ?? 0
        }
    }

    private struct Exits: Encodable, Equatable, Sendable {
        let foregroundExitData: ForegroundExits
        let backgroundExitData: BackgroundExits
    }

    private struct MetaData: Encodable, Equatable, Sendable {
        let appBuildVersion: String
        let bundleIdentifier: String
        var regionFormat = "unknown"
    }

    private let timeStampBegin: String
    private let timeStampEnd: String
    private let appVersion: String
    private let includesMultipleAppVersions: Bool
    private let metaData: MetaData
    private let applicationLaunchMetrics: Launches
    private let applicationResponsivenessMetrics: Responsiveness
    private let applicationExitMetrics: Exits

    init(_ day: Day) {
        timeStampBegin = WallTime(seconds: day.day * 86_400).text(fractionDigits: 0)
        timeStampEnd = WallTime(seconds: day.day * 86_400 + 86_399).text(fractionDigits: 0)
        appVersion = day.version.packageVersion.isEmpty ? day.version.buildID : day.version.packageVersion
        includesMultipleAppVersions = day.hasSeveralVersions
        metaData = MetaData(appBuildVersion: day.version.buildID, bundleIdentifier: day.app)
        applicationLaunchMetrics = Launches(
            histogrammedTimeToFirstDrawKey: Histogram(day.firstDraws),
            histogrammedExtendedLaunch: Histogram(day.extendedLaunches),
            histogrammedResumeTime: Histogram(day.resumes))
        applicationResponsivenessMetrics = Responsiveness(histogrammedAppHangTime: Histogram(day.hangs))
        applicationExitMetrics = Exits(
            foregroundExitData: ForegroundExits(day.foregroundExits),
            backgroundExitData: BackgroundExits(day.backgroundExits))
    }
}
