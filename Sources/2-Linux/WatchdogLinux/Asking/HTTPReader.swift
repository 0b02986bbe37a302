// SPDX-License-Identifier: Apache-2.0

/// Reads the response to one HTTP GET as it arrives, as tolerantly as curl(1) does.
///
/// The server controls every byte: header, framing and the number of interim responses are bounded together, of a line
/// only its beginning is kept, and the work is linear in the input. How the input is cut does not matter. RFC 9112.
public struct HTTPReader: Sendable {
    /// What has been read.
    public enum Event: Hashable, Sendable {
        /// The status of the final response, from 100 to 999; its header is still to come.
        case status(Int)
        /// The end of the header.
        case head
        /// A part of the body.
        case body(ArraySlice<UInt8>)
        /// The end of the body; what follows belongs to no response.
        case end
    }

    /// Why it cannot be read any further.
    public enum Fault: Error, Hashable, Sendable {
        /// Nothing came at all.
        case empty
        /// It does not begin as a response of HTTP/1 does.
        case notHTTP
        /// The header, with the interim responses before it, is longer than the limit.
        case headTooLong
        /// A length contradicts another one, or is none; or a chunk does not end where it says.
        case malformed
        /// The connection ended within the response.
        case cutOff
        /// The body has a transfer coding other than chunked.
        case unknownCoding
    }

    /// The maximum size of what is not body: of the header, of interim responses and of what delimits chunks.
    static let framingLimit = 1 << 20
    /// How much of a line is kept: enough for each field that matters.
    private static let lineLimit = 1 << 10
    private static let prefix = Array("http/".utf8)

    private enum State: Hashable {
        case statusLine
        case fields
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case body(left: Int?)
        case ended
    }

    private var state = State.statusLine
    /// The beginning of the current line.
    private var line: [UInt8] = []
    /// A field that the next line may continue; nil in the status line.
    private var field: [UInt8]?
    private var framingLength = 0
    private var status = 0
    private var length: Int?
    private var hasLength = false
    private var codings: [String] = []
    /// Whether the body is compressed, or otherwise encoded.
    public private(set) var isEncoded = false

    /// Starts before the first byte.
    public init() {}

    /// The status of the final response at the start of `bytes`, if it is there.
    public static func status(in bytes: [UInt8]) -> Int? {
        var reader = HTTPReader()
        var rest = bytes[...]
        guard case .status(let status) = try? reader.next(&rest) else { return nil }
        return status
    }

    /// Takes bytes from the front of `rest` until something has been read.
    ///
    /// - Returns: nil if more bytes are needed; then `rest` is empty.
    public mutating func next(_ rest: inout ArraySlice<UInt8>) throws(Fault) -> Event? {
        while true {
            switch state {
            case .statusLine, .fields, .chunkSize, .chunkEnd:
                guard try completesLine(&rest) else { return nil }
                defer { line = [] }
                if let event = try readLine() { return event }
            case .chunk(let left):
                guard let part = Self.take(left, from: &rest) else { return nil }
                state = left == part.count ? .chunkEnd : .chunk(left: left - part.count)
                return .body(part)
            case .body(let left):
                guard left != 0 else {
                    state = .ended
                    continue
                }
                guard let part = Self.take(left ?? .max, from: &rest) else { return nil }
                state = .body(left: left.map { $0 - part.count })
                return .body(part)
            case .ended:
                return .end
            }
        }
    }

    /// Whether a connection that ends here ends the response as it should; throws otherwise.
    public func end() throws(Fault) {
        switch state {
        case .statusLine where framingLength == 0: throw .empty
        case .body(left: nil), .ended: break
        case .statusLine, .fields, .chunkSize, .chunk, .chunkEnd, .body: throw .cutOff
        }
    }

    private static func take(_ most: Int, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        let part = rest.prefix(most)
        rest = rest.dropFirst(part.count)
        return part
    }

    // MARK: - Lines

    /// Whether the current line has come whole.
    private mutating func completesLine(_ rest: inout ArraySlice<UInt8>) throws(Fault) -> Bool {
        let end = rest.firstIndex(of: UInt8(ascii: "\n"))
        // Of an endless line, no more is looked at than is allowed.
        let part = rest[..<(end ?? rest.endIndex)].prefix(Self.framingLimit + 1)
        framingLength += part.count + (end == nil ? 0 : 1)
        line += part.prefix(max(0, Self.lineLimit - line.count))
        // The banner of another protocol may never end its line.
        if state == .statusLine, !zip(line, Self.prefix).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) { throw .notHTTP }
        guard framingLength <= Self.framingLimit else {
            throw state == .statusLine || state == .fields ? .headTooLong : .malformed
        }
        guard let end else {
            rest = []
            return false
        }
        rest = rest[(end + 1)...]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return true
    }

    private mutating func readLine() throws(Fault) -> Event? {
        switch state {
        case .statusLine: return try readStatus()
        case .fields: return try readField()
        case .chunkSize: try readChunkSize()
        case .chunkEnd:
            guard line.isEmpty else { throw .malformed }
            state = .chunkSize
        case .chunk, .body, .ended: break
        }
        return nil
    }

    /// Parses `HTTP/1.1 200 OK`: the reason may be missing, and the letters may be small.
    private mutating func readStatus() throws(Fault) -> Event? {
        guard let blank = line.firstIndex(of: UInt8(ascii: " ")), blank >= Self.prefix.count else { throw .notHTTP }
        let version = line[Self.prefix.count..<blank]
        // Some servers answer a request of HTTP/1.1 so.
        let isSecond = version.elementsEqual("2".utf8) || version.elementsEqual("2.0".utf8)
        guard isSecond || version.count == 3 && version.starts(with: "1.".utf8) && Self.isDigit(line[blank - 1]) else {
            throw .notHTTP
        }
        let digits = line[blank...].drop { $0 == UInt8(ascii: " ") }
        let code = digits.prefix { Self.isDigit($0) }
        guard code.count == 3, let number = Int(String(decoding: code, as: UTF8.self)), number >= 100 else {
            throw .notHTTP
        }
        (status, length, hasLength, codings, isEncoded, field) = (number, nil, false, [], false, nil)
        state = .fields
        return isInterim ? nil : .status(number)
    }

    /// Interim responses precede the final one; 101 is final: RFC 9110, 15.2.
    private var isInterim: Bool { status < 200 && status != 101 }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private mutating func readField() throws(Fault) -> Event? {
        // A line that begins with a blank continues the field: RFC 9112, 5.2.
        if let first = line.first, Self.isBlank(first) {
            let room = Self.lineLimit - (field?.count ?? 0)
            field?.append(contentsOf: line.prefix(max(0, room)))
            return nil
        }
        if let field, !isInterim { try heed(field[...]) }
        field = line
        return line.isEmpty ? try endHead() : nil
    }

    private mutating func heed(_ field: ArraySlice<UInt8>) throws(Fault) {
        guard let colon = field.firstIndex(of: UInt8(ascii: ":")) else { return }
        let values = field[(colon + 1)...].split(separator: UInt8(ascii: ",")).map { Self.trimmed($0) }
        switch Self.text(Self.trimmed(field[..<colon])) {
        case "content-length": try heed(lengths: values)
        case "transfer-encoding":
            codings += values.map { Self.text($0) }.filter { !$0.isEmpty && $0 != "identity" }
        case "content-encoding":
            isEncoded = isEncoded || values.contains { !$0.isEmpty && Self.text($0) != "identity" }
        default: break
        }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop { isBlank($0) }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }

    /// A length that is repeated must be the same; one that no number can hold is that of an endless body.
    private mutating func heed(lengths values: [ArraySlice<UInt8>]) throws(Fault) {
        guard !values.isEmpty else { throw .malformed }
        for value in values {
            let digits = (value.first == UInt8(ascii: "+") ? value.dropFirst() : value).prefix { Self.isDigit($0) }
            guard !digits.isEmpty else { throw .malformed }
            let number = Int(String(decoding: digits, as: UTF8.self))
            guard !hasLength || length == number else { throw .malformed }
            (length, hasLength) = (number, true)
        }
    }

    private mutating func endHead() throws(Fault) -> Event? {
        guard !isInterim else {
            state = .statusLine
            return nil
        }
        if status == 101 || status == 204 || status == 304 {
            state = .ended
        } else if codings.isEmpty {
            state = .body(left: length)
        } else {
            // Some servers say it twice.
            guard codings.allSatisfy({ $0 == "chunked" }) else { throw .unknownCoding }
            state = .chunkSize
        }
        return .head
    }

    // MARK: - Chunks

    /// Parses `1a`, perhaps in blanks or with leading zeros, and with an extension: `1a;name=value`.
    private mutating func readChunkSize() throws(Fault) {
        let digits = Self.trimmed(line.prefix { $0 != UInt8(ascii: ";") })
        let significant = digits.drop { $0 == UInt8(ascii: "0") }
        guard digits.first.map(Self.isHexDigit) == true, significant.count <= 15,
            significant.allSatisfy(Self.isHexDigit)
        else { throw .malformed }
        let size = Int(String(decoding: significant, as: UTF8.self), radix: 16) ?? 0
        // Nothing in a trailer matters.
        state = size > 0 ? .chunk(left: size) : .ended
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
