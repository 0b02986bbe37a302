// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// JSON for people and programs: sorted keys, indentation, a trailing newline.
package enum JSONText {
    /// - Parameter value: strings, integers and booleans only; JSON can always represent them.
    package static func of(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
        } catch {
            preconditionFailure("the value holds only strings and integers, which JSON can hold: \(error)")
        }
    }
}
