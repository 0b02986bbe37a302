// SPDX-License-Identifier: Apache-2.0

/// A line that an app has printed.
public struct LogLine: Hashable, Sendable, Codable {
    /// When it was printed; nil when that is not known.
    public var time: Timestamp?
    /// The line, without its end.
    public var text: String

    /// Creates a line.
    public init(time: Timestamp? = nil, text: String) {
        self.time = time
        self.text = text
    }

    private enum CodingKeys: String, CodingKey {
        case time = "timeUSec"
        case text
    }
}
