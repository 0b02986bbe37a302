// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Checks the shape of a JSON text without parsing it.
enum JSONShape {
    /// The maximum nesting depth of arrays and objects.
    static let depthLimit = 32

    /// Rejects text that is not an object or is nested too deeply, so that a recursive parser is safe.
    ///
    /// The parser checks everything else.
    static func check(_ bytes: [UInt8]) throws(MessageFault) {
        var scanner = JSONScanner(bytes)
        guard let first = scanner.next(), bytes[first.range.lowerBound] == UInt8(ascii: "{") else { throw .notAnObject }
        var depth = 1
        while let token = scanner.next() {
            switch token.kind {
            case .opening:
                depth += 1
                if depth > depthLimit { throw .tooDeep(limit: depthLimit) }
            case .closing: depth -= 1
            case .comma, .colon, .string, .word: break
            }
        }
    }
}
