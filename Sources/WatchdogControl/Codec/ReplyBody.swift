// SPDX-License-Identifier: Apache-2.0

/// The parameters of a reply, in pieces that can be encoded one by one.
enum ReplyBody {
    /// One member of the parameters.
    enum Member {
        /// A value, encoded in one piece.
        case value(String, any Encodable)
        /// An array, encoded element by element, each of which is made when its turn comes; nil leaves it out.
        case list(String, count: Int, element: (Int) -> (any Encodable)?)

        /// An array whose elements are there already.
        static func list(_ name: String, _ elements: [some Encodable]) -> Member {
            .list(name, count: elements.count) { elements[$0] }
        }
    }

    /// An object, encoded in one piece.
    case whole(any Encodable)
    /// Members; a nil value leaves one out.
    case members([Member?])
}

/// A reply that may be too large to be encoded in one go.
protocol PiecewiseReply {
    var body: ReplyBody { get }
}
