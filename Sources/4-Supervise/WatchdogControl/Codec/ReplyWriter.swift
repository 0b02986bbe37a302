// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Encodes a reply in parts, so that a long one neither blocks the loop nor is in memory as a whole.
struct ReplyWriter {
    private let encoder: JSONEncoder
    private var pieces: [Piece]
    private var element = 0
    private var isFirstElement = true

    private enum Piece {
        case text(String)
        case value(any Encodable)
        case list(count: Int, element: (Int) -> (any Encodable)?)
        case encoded([[UInt8]])
    }

    /// Starts a reply, or an error if it has a name.
    init(_ body: ReplyBody, error: String? = nil, continues: Bool = false, encoder: JSONEncoder) {
        self.encoder = encoder
        var head = "{"
        if continues { head += "\"continues\":true," }
        if let error { head += "\"error\":\"\(error)\"," }
        head += "\"parameters\":"
        pieces = [.text(head)]
        switch body {
        case .whole(let value):
            pieces.append(.value(value))
        case .members(let members):
            var separator = "{"
            for member in members.compactMap(\.self) {
                switch member {
                case .value(let name, let value):
                    pieces += [.text("\(separator)\"\(name)\":"), .value(value)]
                case .encoded(let name, let elements):
                    pieces += [.text("\(separator)\"\(name)\":["), .encoded(elements), .text("]")]
                case .list(let name, let count, let element):
                    pieces += [.text("\(separator)\"\(name)\":["), .list(count: count, element: element), .text("]")]
                }
                separator = ","
            }
            pieces.append(.text(separator == "{" ? "{}" : "}"))
        }
        pieces.append(.text("}\0"))
        pieces.reverse()
    }

    /// Writes the next values or elements, at most `limit` of them.
    ///
    /// - Returns: true when the reply is complete, including its NUL.
    mutating func write(to output: inout OutputBuffer, atMost limit: Int) -> Bool {
        var left = limit
        while let piece = pieces.last {
            switch piece {
            case .text(let text):
                output.append(text.utf8)
            case .value(let value):
                guard left > 0 else { return false }
                left -= 1
                output.append(encode(value))
            case .list(let count, let make):
                while element < count {
                    guard left > 0 else { return false }
                    left -= 1
                    if let value = make(element) {
                        if !isFirstElement { output.append(CollectionOfOne(UInt8(ascii: ","))) }
                        isFirstElement = false
                        output.append(encode(value))
                    }
                    element += 1
                }
                element = 0
                isFirstElement = true
            case .encoded(let elements):
                while element < elements.count {
                    guard left > 0 else { return false }
                    left -= 1
                    if element > 0 { output.append(CollectionOfOne(UInt8(ascii: ","))) }
                    output.append(elements[element])
                    element += 1
                }
                element = 0
            }
            pieces.removeLast()
        }
        return true
    }

    private func encode(_ value: any Encodable) -> Data {
        do {
            return try encoder.encode(value)
        } catch {
            preconditionFailure("a reply holds only strings, integers and truth values, which JSON can hold: \(error)")
        }
    }
}

/// The parameters of a reply, in parts that can be encoded separately.
enum ReplyBody {
    /// One member of the parameters.
    enum Member {
        /// A value, encoded at once.
        case value(String, any Encodable)
        /// An array, encoded element by element; elements are created on demand, and nil omits one.
        case list(String, count: Int, element: (Int) -> (any Encodable)?)

        /// An array whose elements are JSON already.
        case encoded(String, [[UInt8]])

        /// An array of existing elements.
        static func list(_ name: String, _ elements: [some Encodable]) -> Member {
            .list(name, count: elements.count) { elements[$0] }
        }
    }

    /// An object, encoded at once.
    case whole(any Encodable)
    /// Members; nil omits one.
    case members([Member?])
}

/// A reply that may be too large to encode at once.
protocol PiecewiseReply {
    var body: ReplyBody { get }
}
