// SPDX-License-Identifier: Apache-2.0

/// The hours between the first and the last incident of a version on a host.
///
/// No source says when a version was installed. Between its first and its last incident it was there, and whatever
/// happened in these hours is independent of the two hours that delimit them: events in the first and in the last hour
/// do not count, so that rates are unbiased.
struct Sightings: Sendable {
    private var first: Int64
    private var last: Int64

    init(hour: Int64) { (first, last) = (hour, hour) }

    mutating func add(hour: Int64) {
        first = min(first, hour)
        last = max(last, hour)
    }

    /// The hours between.
    var hours: Int64 { max(0, last - first - 1) }

    /// Whether an hour is between.
    func contains(_ hour: Int64) -> Bool { first < hour && hour < last }
}
