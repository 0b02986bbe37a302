// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a message of the protocol.
enum MessageFault: Error, Hashable, CustomStringConvertible {
    /// No NUL within the limit.
    case tooLong(limit: Int)
    /// Nothing between two NULs.
    case empty
    /// Not a JSON object.
    case notAnObject
    /// Arrays and objects within one another beyond the limit.
    case tooDeep(limit: Int)
    /// Not JSON, or members of the wrong kind.
    case notACall(String)

    var description: String {
        switch self {
        case .tooLong(let limit): "a message may have \(limit) bytes at most"
        case .empty: "a message is empty"
        case .notAnObject: "a message is not a JSON object"
        case .tooDeep(let limit): "a message nests arrays and objects more than \(limit) deep"
        case .notACall(let reason): "a message is not a call: \(reason)"
        }
    }
}
