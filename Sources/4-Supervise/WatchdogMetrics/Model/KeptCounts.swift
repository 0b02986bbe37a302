// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The counts of one app in a file, from which the next run continues.
///
/// Counts have the labels of their series as names, so a version with other events, verdicts or buckets takes what it
/// knows and starts the rest from 0. The file belongs to the app's user, who may write anything into it.
public struct KeptCounts: Codable, Hashable, Sendable {
    /// The durations of one histogram, in nanoseconds.
    struct Durations: Codable, Hashable, Sendable {
        var bounds: [Int64]
        var buckets: [Int]
        var sum: Int64

        private enum CodingKeys: String, CodingKey { case bounds, buckets, sum }
    }

    /// The largest count that is believed: sums of such counts do not overflow.
    static let largest = 1 << 48

    /// The app's name.
    public var app: String
    /// When counting began, in microseconds since 1970-01-01 00:00 UTC.
    public var startedUSec: Int64
    /// The latest reported incident, in microseconds since 1970-01-01 00:00 UTC; nil without one.
    public var lastIncidentUSec: Int64?
    var runningNSec: Int64 = 0
    var counts: [String: Int] = [:]
    var durations: [String: Durations] = [:]

    private enum CodingKeys: String, CodingKey {
        case app, startedUSec, lastIncidentUSec, runningNSec, counts, durations
    }

    /// The counts of a meter, which must be the result of ``AppMeter/counted(until:)``.
    public init(of app: String, _ meter: AppMeter, started: Duration, lastIncident: Duration?) {
        self.app = app
        startedUSec = started.wholeMicroseconds
        lastIncidentUSec = lastIncident?.wholeMicroseconds
        runningNSec = meter.runningTime.nanoseconds
        for (name, count) in meter.namedCounts where count != 0 { counts[name] = count }
        for (name, histogram) in meter.namedHistograms where histogram.count != 0 {
            durations[name] = Durations(
                bounds: histogram.bounds.map(\.nanoseconds), buckets: histogram.buckets, sum: histogram.sum.nanoseconds)
        }
    }

    /// The count of this name; 0 if there is none that can be believed.
    func count(_ name: String) -> Int {
        counts[name].flatMap { (0...Self.largest).contains($0) ? $0 : nil } ?? 0
    }

    /// The histogram of this name; nil if it has other bounds, or none that can be believed.
    func histogram(_ name: String, bounds: [Duration]) -> FixedHistogram? {
        guard let kept = durations[name], kept.bounds == bounds.map(\.nanoseconds), kept.sum >= 0,
            kept.buckets.allSatisfy({ (0...Self.largest).contains($0) })
        else { return nil }
        return FixedHistogram(bounds: bounds, buckets: kept.buckets, sum: .nanoseconds(kept.sum))
    }
}
