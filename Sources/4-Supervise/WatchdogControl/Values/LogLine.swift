// SPDX-License-Identifier: Apache-2.0

/// A line of an app's output.
public struct LogLine: Hashable, Sendable, Codable {
    /// The time of the line; nil if unknown.
    public var time: Timestamp?
    /// The line without its newline.
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
