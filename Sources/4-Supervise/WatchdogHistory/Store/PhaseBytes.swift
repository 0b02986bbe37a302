// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Encodes the phases of launches for the store; phases of a newer watchdogd are skipped.
///
/// A phase's number is its position among all cases.
enum PhaseBytes {
    /// More than four years.
    private static let longest: Int64 = 1 << 47

    // MARK: - One launch

    /// A bit set of the known phases, and the microseconds of each, in base 128; nil without phases.
    static func bytes(_ durations: [LaunchPhaseName: Duration]) -> [UInt8]? {
        guard !durations.isEmpty else { return nil }
        var known: UInt64 = 0
        var rest: [UInt8] = []
        for (number, phase) in LaunchPhaseName.allCases.enumerated() {
            guard let duration = durations[phase] else { continue }
            known |= 1 << UInt64(number)
            Base128.append(UInt64(min(max(duration.wholeMicroseconds, 0), longest)), to: &rest)
        }
        var bytes: [UInt8] = []
        Base128.append(known, to: &bytes)
        return bytes + rest
    }

    /// Decodes the phases, up to the first damage.
    static func durations(_ bytes: UnsafeRawBufferPointer) -> [LaunchPhaseName: Duration] {
        var durations: [LaunchPhaseName: Duration] = [:]
        var reader = Base128Reader(bytes)
        let known = reader.next() ?? 0
        for number in 0..<63 where known & 1 << UInt64(number) != 0 {
            guard let microseconds = reader.next() else { break }
            guard number < LaunchPhaseName.allCases.count else { continue }
            durations[LaunchPhaseName.allCases[number]] = .microseconds(min(Int64(microseconds), longest))
        }
        return durations
    }

    // MARK: - One day

    /// Encodes each phase as its number, and the length and the bytes of its buckets.
    static func bytes(_ buckets: [LaunchPhaseName: DurationBuckets]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (number, phase) in LaunchPhaseName.allCases.enumerated() {
            guard let part = buckets[phase]?.bytes else { continue }
            Base128.append(UInt64(number), to: &bytes)
            Base128.append(UInt64(part.count), to: &bytes)
            bytes += part
        }
        return bytes
    }

    /// Calls `body` with each phase and the bytes of its buckets, up to the first damage.
    static func read(_ bytes: UnsafeRawBufferPointer, _ body: (LaunchPhaseName, UnsafeRawBufferPointer) -> Void) {
        var reader = Base128Reader(bytes)
        while let number = reader.next(), let count = reader.next(), let part = reader.next(count: count) {
            guard number < UInt64(LaunchPhaseName.allCases.count) else { continue }
            body(LaunchPhaseName.allCases[Int(number)], part)
        }
    }
}
