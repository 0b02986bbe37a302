// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// JSON for people and programs: sorted keys, indentation, a trailing newline.
package enum JSONText {
    /// - Parameter value: strings, integers and booleans only; JSON can always represent them.
    package static func of(_ value: some Encodable) -> String {
        text(value, [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes])
    }

    /// JSON on one line.
    package static func line(_ value: some Encodable) -> String { text(value, [.sortedKeys, .withoutEscapingSlashes]) }

    private static func text(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
        } catch {
            preconditionFailure("the value holds only strings and integers, which JSON can hold: \(error)")
        }
    }
}
