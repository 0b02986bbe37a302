// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A call about one app in the form in which almost all clients write it, read without a decoder.
///
/// `{"method":"M","parameters":{"name":"N","wait":true}}`: these members in this order, without escapes; `wait` may be
/// missing, and blanks do not matter. After a pause, a decoder takes a tenth of a millisecond for it, which is a sixth of
/// a launch.
struct PlainCall {
    let method: String
    let request: AppRequest

    /// Nil for every other message, whether it is valid or not: the decoder reads those.
    init?(decoding bytes: [UInt8]) {
        var reader = Reader(bytes)
        guard reader.skips("{"), reader.skips("\"method\""), reader.skips(":"), let method = reader.text(),
            reader.skips(","), reader.skips("\"parameters\""), reader.skips(":"),
            reader.skips("{"), reader.skips("\"name\""), reader.skips(":"), let name = reader.text()
        else { return nil }
        var waits = false
        if reader.skips(",") {
            guard reader.skips("\"wait\""), reader.skips(":") else { return nil }
            waits = reader.skips("true")
            guard waits || reader.skips("false") else { return nil }
        }
        guard reader.skips("}"), reader.skips("}"), reader.isAtEnd else { return nil }
        self.method = method
        request = AppRequest(name, waits: waits)
    }
}

extension PlainCall {
    private struct Reader {
        private let bytes: [UInt8]
        private var scanner: JSONScanner
        private var token: JSONScanner.Token?

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            scanner = JSONScanner(bytes)
            token = scanner.next()
        }

        var isAtEnd: Bool { token == nil }

        /// Skips the next token if it has exactly this text.
        mutating func skips(_ text: StaticString) -> Bool {
            guard let token, text.utf8CodeUnitCount == token.range.count else { return false }
            let isEqual = text.withUTF8Buffer { $0.elementsEqual(bytes[token.range]) }
            if isEqual { self.token = scanner.next() }
            return isEqual
        }

        /// Takes the next token if it is a string of printable ASCII characters without escapes.
        mutating func text() -> String? {
            guard let token, case .string(isWhole: true) = token.kind else { return nil }
            let text = bytes[token.range].dropFirst().dropLast()
            guard text.allSatisfy({ $0 > 0x1f && $0 < 0x7f && $0 != UInt8(ascii: "\\") }) else { return nil }
            self.token = scanner.next()
            return String(decoding: text, as: UTF8.self)
        }
    }
}
