// SPDX-License-Identifier: Apache-2.0

/// The hours between the first and the last incident of a version on a host.
///
/// Nobody tells when a version was installed. Between its first and its last incident it was there, and whatever
/// happened in these hours is independent of the two hours that delimit them: events in the first and in the last hour
/// do not count, so that rates are unbiased.
struct Sightings: Sendable {
    /// An hour, and which signatures occurred in it.
    private struct Edge: Sendable {
        var hour: Int64
        var signatures: [Int]
    }

    private var first: Edge
    private var last: Edge

    init(hour: Int64, signature: Int) {
        first = Edge(hour: hour, signatures: [signature])
        last = first
    }

    /// Adds a signature's first incident within an hour.
    mutating func add(hour: Int64, signature: Int) {
        if hour == first.hour {
            first.signatures.append(signature)
        } else if hour < first.hour {
            first = Edge(hour: hour, signatures: [signature])
        }
        if hour == last.hour {
            last.signatures.append(signature)
        } else if hour > last.hour {
            last = Edge(hour: hour, signatures: [signature])
        }
    }

    /// The hours between.
    var hours: Int64 { max(0, last.hour - first.hour - 1) }

    /// The signatures that occurred in the first or the last hour, once for each of both.
    var edges: [Int] { first.hour == last.hour ? first.signatures : first.signatures + last.signatures }
}
