// SPDX-License-Identifier: Apache-2.0

/// The address of an HTTP server: `http://HOST[:PORT][/PATH]`.
public struct WebAddress: Hashable, Sendable, CustomStringConvertible {
    /// Why a text is not such an address, worded to follow it: "is not …".
    public struct ParsingError: Error, Hashable, Sendable {
        /// The reason, and what to write instead.
        public let reason: String
    }

    /// A name or an address, without the brackets of IPv6.
    let host: String
    /// A number from 1 to 65535.
    let port: String
    /// Host and port as the `Host` field of a request has them.
    let authority: String
    /// The path to which others are appended: empty, or `/prefix`.
    let prefix: String

    /// The address as it was written.
    public var description: String { "http://\(authority)\(prefix)" }

    /// Parses an address.
    ///
    /// - Throws: ``ParsingError``; the text may be anything, and neither user names nor TLS are supported.
    public init(parsing text: String) throws(ParsingError) {
        guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw ParsingError(reason: "is not an address: use at most 2,048 printable ASCII characters")
        }
        guard text.hasPrefix("http://") else {
            throw ParsingError(
                reason: text.hasPrefix("https://")
                    ? "needs TLS, which is not supported; use http:// to a local proxy or an ssh tunnel"
                    : "is not an address; write http://HOST:PORT")
        }
        let rest = text.dropFirst("http://".count)
        guard !rest.contains("?"), !rest.contains("#"), !rest.contains("@") else {
            throw ParsingError(reason: "has a query, a fragment or a user name; write http://HOST:PORT/PATH")
        }
        let place = rest.prefix { $0 != "/" }
        var path = String(rest.dropFirst(place.count))
        while path.hasSuffix("/") { path.removeLast() }
        let isBracketed = place.hasPrefix("[")
        let hostEnd = isBracketed ? place.firstIndex(of: "]") : place.lastIndex(of: ":") ?? place.endIndex
        guard let hostEnd else { throw ParsingError(reason: "is not an address: ] is missing") }
        let name = isBracketed ? place[..<hostEnd].dropFirst() : place[..<hostEnd]
        let tail = isBracketed ? place[hostEnd...].dropFirst() : place[hostEnd...]
        guard !name.isEmpty, isBracketed || !name.contains(":"), tail.isEmpty || tail.hasPrefix(":") else {
            throw ParsingError(reason: "is not an address; write http://HOST:PORT, and IPv6 in brackets")
        }
        let digits = tail.isEmpty ? "80" : tail.dropFirst()
        guard !digits.hasPrefix("+"), let number = UInt16(digits), number > 0 else {
            throw ParsingError(reason: "has no port; use a number from 1 to 65535")
        }
        (host, port, authority, prefix) = (String(name), String(number), String(place), path)
    }
}
