// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not a valid message.
enum MessageFault: Error, Hashable, CustomStringConvertible {
    /// No NUL within the limit.
    case tooLong(limit: Int)
    /// No bytes between two NULs.
    case empty
    /// It is not a JSON object.
    case notAnObject
    /// Arrays and objects are nested beyond the limit.
    case tooDeep(limit: Int)
    /// It is not JSON, or has members of the wrong type.
    case notACall(String)

    var description: String {
        switch self {
        case .tooLong(let limit): "a message may have at most \(limit) bytes"
        case .empty: "a message is empty"
        case .notAnObject: "a message is not a JSON object"
        case .tooDeep(let limit): "a message nests arrays and objects more than \(limit) deep"
        case .notACall(let reason): "a message is not a call: \(reason)"
        }
    }
}
