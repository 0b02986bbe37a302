// SPDX-License-Identifier: Apache-2.0

/// What can be said of JSON without parsing it.
enum JSONShape {
    /// The most arrays and objects within one another that a message may have.
    static let depthLimit = 32

    /// Refuses what is not an object or nests too deep, so that a parser that recurses may look at it.
    ///
    /// Whether it is JSON at all is left to the parser.
    static func check(_ bytes: [UInt8]) throws(MessageFault) {
        let first = bytes.first { $0 != UInt8(ascii: " ") && !(0x09...0x0d).contains($0) }
        guard first == UInt8(ascii: "{") else { throw .notAnObject }
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth > depthLimit { throw .tooDeep(limit: depthLimit) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
    }
}
