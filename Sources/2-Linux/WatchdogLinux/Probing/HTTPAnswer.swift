// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Judges the answer to an HTTP probe as soon as what has arrived decides it.
///
/// The status is judged when its line is complete, so without a text to look for, nothing that follows matters. The
/// server controls every byte: all that is looked at is bounded.
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

    /// How much of the body is searched for the text.
    static let bodyLimit = 64 << 10

    private let expectation: Expectation
    private var search: TextSearch?
    private var reader = HTTPReader()
    private var bodyLength = 0

    /// Starts judging an answer.
    public init(expecting expectation: Expectation) {
        self.expectation = expectation
        search = expectation.body.map { TextSearch(Array($0.utf8)) }
    }

    /// Processes received bytes; returns nil if more are needed.
    public mutating func receive(_ bytes: [UInt8]) -> ProbeResult? {
        var rest = bytes[...]
        do throws(HTTPReader.Fault) {
            while let event = try reader.next(&rest) {
                if let result = judge(event) { return result }
            }
            return nil
        } catch {
            return .failed(Self.words(for: error))
        }
    }

    /// The result once the connection has ended.
    public mutating func end() -> ProbeResult {
        do throws(HTTPReader.Fault) {
            try reader.end()
            return missing(isWhole: true)
        } catch {
            return .failed(Self.words(for: error))
        }
    }

    private mutating func judge(_ event: HTTPReader.Event) -> ProbeResult? {
        switch event {
        case .status(let status):
            guard expectation.statuses.contains(where: { $0.contains(status) }) else {
                return .failed("HTTP status \(status)")
            }
            return search?.isFound ?? true ? .answered : nil
        case .head:
            return nil
        case .body(let bytes):
            let part = bytes.prefix(Self.bodyLimit - bodyLength)
            bodyLength += part.count
            if search?.advance(over: part) == true { return .answered }
            return bodyLength < Self.bodyLimit ? nil : missing(isWhole: false)
        case .end:
            return missing(isWhole: true)
        }
    }

    private func missing(isWhole: Bool) -> ProbeResult {
        let place = isWhole ? "the body of the HTTP answer does" : "the first 64 KiB of the HTTP answer's body do"
        let reason = reader.isEncoded ? ": it is encoded, by its Content-Encoding" : ""
        return .failed("\(place) not contain what it must\(reason)")
    }

    private static func words(for fault: HTTPReader.Fault) -> String {
        switch fault {
        case .empty: "the connection was closed without an answer"
        case .notHTTP: "the answer is not HTTP"
        case .headTooLong: "the HTTP header is longer than 1 MiB"
        case .malformed: "the HTTP answer is malformed"
        case .cutOff: "the HTTP answer is cut off"
        case .unknownCoding: "the body of the HTTP answer has an unsupported encoding"
        }
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
