// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// JSON for people and programs: keys in order, indented, a newline at the end.
enum JSONText {
    /// - Parameter value: only strings, integers and booleans, which JSON can always hold.
    static func of(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
        } catch {
            preconditionFailure("the value holds only strings and integers, which JSON can hold: \(error)")
        }
    }
}
