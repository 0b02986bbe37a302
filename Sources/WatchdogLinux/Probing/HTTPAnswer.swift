// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Parses the answer to one HTTP/1.1 request as far as needed to judge it.
///
/// The server controls every byte: header, body and the number of interim answers are bounded, and the work is linear
/// in the input. RFC 9112.
public struct HTTPAnswer: Sendable {
    /// What makes an answer a success.
    public struct Expectation: Hashable, Sendable {
        /// The accepted status codes.
        public var statuses: [ClosedRange<Int>]
        /// Text that the body must contain.
        public var body: String?

        /// Creates an expectation.
        public init(statuses: [ClosedRange<Int>], body: String?) {
            self.statuses = statuses
            self.body = body
        }
    }

    /// The maximum size of the header, including interim answers.
    static let headerLimit = 16 << 10
    /// How much of the body is searched for the text.
    static let bodyLimit = 64 << 10

    private enum State: Hashable {
        case statusLine
        case fields
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case body(left: Int?)
    }

    private let expectation: Expectation
    private var search: TextSearch?
    private var state = State.statusLine
    private var line: [UInt8] = []
    private var headerLength = 0
    private var bodyLength = 0
    private var status = 0
    private var length: Int?
    private var isChunked = false

    /// Starts parsing an answer.
    public init(expecting expectation: Expectation) {
        self.expectation = expectation
        search = expectation.body.map { TextSearch(Array($0.utf8)) }
    }

    /// Processes received bytes; returns nil if more are needed.
    public mutating func receive(_ bytes: [UInt8]) -> ProbeResult? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let result: ProbeResult? =
                switch state {
                case .statusLine, .fields, .chunkSize, .chunkEnd: receiveLine(&rest)
                case .chunk(let left): receiveBody(&rest, left: left)
                case .body(let left): receiveBody(&rest, left: left)
                }
            if let result { return result }
        }
        return nil
    }

    /// The result once the connection has ended.
    public mutating func end() -> ProbeResult {
        switch state {
        case .statusLine where headerLength == 0: .failed("the connection was closed without an answer")
        case .body(left: nil): missing(isWhole: true)
        case .statusLine, .fields, .chunkSize, .chunk, .chunkEnd, .body: .failed("the HTTP answer is cut off")
        }
    }

    private mutating func receiveLine(_ rest: inout ArraySlice<UInt8>) -> ProbeResult? {
        let end = rest.firstIndex(of: UInt8(ascii: "\n"))
        let part = rest[..<(end ?? rest.endIndex)]
        let isHeader = state == .statusLine || state == .fields
        // A line may come in many parts.
        if isHeader { headerLength += part.count + (end == nil ? 0 : 1) }
        guard isHeader ? headerLength <= Self.headerLimit : line.count + part.count <= 256 else {
            return .failed(isHeader ? "the HTTP header is longer than 16 KiB" : "the HTTP answer is malformed")
        }
        line += part
        // A banner of another protocol may never end its line.
        if state == .statusLine, !Self.canBegin(line) { return .failed("the answer is not HTTP") }
        guard let end else {
            rest = []
            return nil
        }
        rest = rest[(end + 1)...]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line = [] }
        switch state {
        case .statusLine: return readStatus()
        case .fields: return readField()
        case .chunkSize: return readChunkSize()
        case .chunkEnd:
            guard line.isEmpty else { return .failed("the HTTP answer is malformed") }
            state = .chunkSize
            return nil
        case .chunk, .body: return nil
        }
    }

    private static func canBegin(_ line: [UInt8]) -> Bool {
        zip(line, "HTTP/1.".utf8).allSatisfy { $0 == $1 }
    }

    /// Parses `HTTP/1.1 200 OK`.
    private mutating func readStatus() -> ProbeResult? {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].count == 8, parts[1].count == 3, let status = Self.number(parts[1], radix: 10)
        else { return .failed("the answer is not HTTP") }
        self.status = status
        (length, isChunked) = (nil, false)
        state = .fields
        return nil
    }

    private mutating func readField() -> ProbeResult? {
        guard !line.isEmpty else { return endHeader() }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let value = line[(colon + 1)...].filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        switch name {
        case "content-length":
            guard value.count <= 18, let number = Self.number(value[...], radix: 10), length ?? number == number else {
                return .failed("the HTTP answer is malformed")
            }
            length = number
        case "transfer-encoding":
            guard String(decoding: value, as: UTF8.self).lowercased() == "chunked" else {
                return .failed("the body of the HTTP answer has an unsupported encoding")
            }
            isChunked = true
        default:
            break
        }
        return nil
    }

    private mutating func endHeader() -> ProbeResult? {
        if (100...199).contains(status), status != 101 {
            state = .statusLine
            return nil
        }
        guard expectation.statuses.contains(where: { $0.contains(status) }) else {
            return .failed("HTTP status \(status)")
        }
        guard search != nil else { return .answered }
        if search?.isFound == true { return .answered }
        if status == 101 || status == 204 || status == 304 || (length == 0 && !isChunked) {
            return missing(isWhole: true)
        }
        state = isChunked ? .chunkSize : .body(left: length)
        return nil
    }

    private mutating func readChunkSize() -> ProbeResult? {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard digits.count <= 15, let size = Self.number(digits, radix: 16) else {
            return .failed("the HTTP answer is malformed")
        }
        guard size > 0 else { return missing(isWhole: true) }
        state = .chunk(left: size)
        return nil
    }

    private mutating func receiveBody(_ rest: inout ArraySlice<UInt8>, left: Int?) -> ProbeResult? {
        let part = rest.prefix(min(left ?? .max, Self.bodyLimit - bodyLength))
        rest = rest.dropFirst(part.count)
        bodyLength += part.count
        if search?.advance(over: part) == true { return .answered }
        let remaining = left.map { $0 - part.count }
        if remaining == 0, !isChunked { return missing(isWhole: true) }
        guard bodyLength < Self.bodyLimit else { return missing(isWhole: false) }
        state = isChunked ? remaining == 0 ? .chunkEnd : .chunk(left: remaining ?? 0) : .body(left: remaining)
        return nil
    }

    private func missing(isWhole: Bool) -> ProbeResult {
        let place = isWhole ? "the body of the HTTP answer does" : "the first 64 KiB of the HTTP answer's body do"
        return .failed("\(place) not contain what it must")
    }

    private static func number(_ digits: ArraySlice<UInt8>, radix: Int) -> Int? {
        guard let first = digits.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: radix)
    }
}

/// Searches for a text in bytes that arrive in parts, with the Knuth–Morris–Pratt algorithm, so that no body can make
/// it slow.
struct TextSearch: Hashable, Sendable {
    private let text: [UInt8]
    private let fallback: [Int]
    private var matched = 0

    init(_ text: [UInt8]) {
        self.text = text
        var fallback = [Int](repeating: 0, count: text.count)
        var length = 0
        for index in text.indices.dropFirst() {
            while length > 0, text[index] != text[length] { length = fallback[length - 1] }
            if text[index] == text[length] { length += 1 }
            fallback[index] = length
        }
        self.fallback = fallback
    }

    var isFound: Bool { matched == text.count }

    /// Whether the text has been found, after searching more bytes.
    mutating func advance(over bytes: ArraySlice<UInt8>) -> Bool {
        for byte in bytes {
            if isFound { return true }
            while matched > 0, text[matched] != byte { matched = fallback[matched - 1] }
            if text[matched] == byte { matched += 1 }
        }
        return isFound
    }
}
