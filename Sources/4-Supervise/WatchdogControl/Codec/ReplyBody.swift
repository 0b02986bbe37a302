// SPDX-License-Identifier: Apache-2.0

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
