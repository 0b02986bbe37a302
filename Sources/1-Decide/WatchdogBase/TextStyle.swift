// SPDX-License-Identifier: Apache-2.0

/// How text for people is printed: in which width, and whether parts of it are colored.
public struct TextStyle: Hashable, Sendable {
    /// What a part of a text means; the terminal's palette decides what its color looks like.
    public enum Meaning: Sendable {
        /// Something is as it should be.
        case success
        /// Something needs attention soon.
        case caution
        /// Something was killed, has crashed, or is wrong.
        case failure
        /// What to look at first.
        case emphasis
        /// What most readers can skip.
        case faint

        /// The parameter of SGR, ECMA-48 section 8.3.117.
        fileprivate var parameter: String {
            switch self {
            case .success: "32"
            case .caution: "33"
            case .failure: "1;31"
            case .emphasis: "1"
            case .faint: "2"
            }
        }
    }

    /// Whether parts of the text are colored.
    public var isColored: Bool
    /// The width in columns; nil for a text that is not cut to a width.
    public var columns: Int?

    /// Creates a style; the default is for files and pipes.
    public init(isColored: Bool = false, columns: Int? = nil) {
        self.isColored = isColored
        self.columns = columns
    }

    /// The text in the color of its meaning, or as it is.
    ///
    /// - Parameter text: one line, safe for a terminal.
    public func callAsFunction(_ text: String, _ meaning: Meaning?) -> String {
        guard isColored, let meaning, !text.isEmpty else { return text }
        return "\u{1b}[\(meaning.parameter)m\(text)\u{1b}[0m"
    }
}
