// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension Duration {
    /// The maximum time, longer than any recording: 30 days.
    fileprivate static let longestRecording = Duration.seconds(30 * 86_400)
}

extension KeyedEncodingContainer {
    mutating func encode(nanoseconds time: Duration, forKey key: Key) throws {
        try encode(time.nanoseconds, forKey: key)
    }

    mutating func encode(nanoseconds time: Duration?, forKey key: Key) throws {
        try encodeIfPresent(time?.nanoseconds, forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// A time from 0 to 30 days.
    func time(_ key: Key) throws -> Duration {
        let time = Duration.nanoseconds(try decode(Int64.self, forKey: key))
        guard time >= .zero, time <= .longestRecording else {
            throw fault(key, "not a time within a recording")
        }
        return time
    }

    /// A time from 0 to 30 days; nil without the key.
    func timeIfPresent(_ key: Key) throws -> Duration? {
        contains(key) ? try time(key) : nil
    }

    /// The end of an interval, which is not before its begin.
    func end(_ key: Key, of begin: Duration) throws -> Duration {
        let end = try time(key)
        guard end >= begin else { throw fault(key, "the end precedes the beginning") }
        return end
    }

    /// A nonnegative number.
    func count(_ key: Key) throws -> Int {
        let count = try decode(Int.self, forKey: key)
        guard count >= 0 else { throw fault(key, "a negative count") }
        return count
    }

    func fault(_ key: Key, _ what: String) -> DecodingError {
        DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: what)
    }
}
