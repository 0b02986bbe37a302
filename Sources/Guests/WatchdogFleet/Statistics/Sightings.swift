// SPDX-License-Identifier: Apache-2.0

/// The hours between the first and the last incident of a version on a host.
///
/// No source has the time of a version's installation. It was installed between its first and its last incident, and
/// the events between are independent of the two hours that delimit them. Events in the first and in the last hour do
/// not count, so that rates are unbiased.
struct Sightings: Sendable {
    private var first: Int64
    private var last: Int64

    init(hour: Int64) { (first, last) = (hour, hour) }

    mutating func add(hour: Int64) {
        first = min(first, hour)
        last = max(last, hour)
    }

    /// The number of hours between.
    var hours: Int64 { max(0, last - first - 1) }

    /// Whether an hour is strictly between.
    func contains(_ hour: Int64) -> Bool { first < hour && hour < last }
}
