// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

/// A received call whose parameters are not decoded yet.
struct VarlinkCall {
    /// The maximum length of a method's name with its interface, in bytes.
    static let longestMethod = 256

    let method: String
    /// The client wants no reply, not even an error.
    let isOneway: Bool
    /// The client accepts more than one reply.
    let wantsMore: Bool
    /// The client wants to switch to another protocol.
    let wantsUpgrade: Bool

    private let bytes: [UInt8]
    /// The parameters of a plain call, if they are those of an app's method.
    private let plainRequest: AppRequest?

    private var message: Data { Data(bytes) }

    /// Decodes a message without its NUL.
    init(decoding bytes: [UInt8], with decoder: JSONDecoder) throws(MessageFault) {
        self.bytes = bytes
        if let plain = PlainCall(decoding: bytes), plain.method.utf8.count <= Self.longestMethod {
            method = plain.method
            (isOneway, wantsMore, wantsUpgrade) = (false, false, false)
            plainRequest = plain.request
            return
        }
        plainRequest = nil
        try JSONShape.check(bytes)
        let message = Data(bytes)
        let head: Head
        do {
            head = try decoder.decode(Head.self, from: message)
        } catch {
            throw .notACall(Self.reason(error))
        }
        guard head.method.utf8.count <= Self.longestMethod else {
            throw .notACall("the method's name has more than \(Self.longestMethod) bytes")
        }
        method = head.method
        isOneway = head.oneway ?? false
        wantsMore = head.more ?? false
        wantsUpgrade = head.upgrade ?? false
    }

    /// Decodes the parameters; rejects those that the method does not have.
    func parameters<Request: ControlRequest>(
        as type: Request.Type, with decoder: JSONDecoder
    ) throws(ControlError) -> Request {
        if let request = plainRequest as? Request { return request }
        do {
            guard let request = try decoder.decode(Body<Request>.self, from: message).parameters else {
                return try decoder.decode(Request.self, from: Data("{}".utf8))
            }
            return request
        } catch let error as DecodingError {
            throw .invalidParameter(Self.parameter(error))
        } catch {
            throw .invalidParameter("parameters")
        }
    }

    private struct Head: Decodable {
        let method: String
        let oneway: Bool?
        let more: Bool?
        let upgrade: Bool?
    }

    private struct Body<Request: ControlRequest>: Decodable {
        let parameters: Request?

        private enum CodingKeys: CodingKey {
            case parameters
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard container.contains(.parameters), try !container.decodeNil(forKey: .parameters) else {
                parameters = nil
                return
            }
            // JSONDecoder would silently ignore a misspelled parameter.
            let given = try container.nestedContainer(keyedBy: AnyKey.self, forKey: .parameters)
            if let unknown = given.allKeys.map(\.stringValue).sorted().first(where: {
                !Request.parameterNames.contains($0)
            }) {
                throw DecodingError.dataCorrupted(
                    .init(
                        codingPath: [CodingKeys.parameters, AnyKey(stringValue: unknown)],
                        debugDescription: "unknown parameter"
                    )
                )
            }
            parameters = try container.decode(Request.self, forKey: .parameters)
        }
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The name of the parameter that caused an error.
    private static func parameter(_ error: DecodingError) -> String {
        let path: [any CodingKey] =
            switch error {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: []
            }
        let names = path.map(\.stringValue).drop { $0 == "parameters" }
        return names.first.map { String($0.prefix(64)) } ?? path.first?.stringValue ?? "parameters"
    }

    private static func reason(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, _): "it has no \"\(key.stringValue)\""
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\"\(context.codingPath.first?.stringValue ?? "it")\" is of the wrong kind"
        case .dataCorrupted, nil: "it is not JSON"
        @unknown default: "it is not JSON"
        }
    }
}

/// Checks the shape of a JSON text without parsing it.
enum JSONShape {
    /// The maximum nesting depth of arrays and objects.
    static let depthLimit = 32

    /// Rejects text that is not an object or is nested too deeply, so that a recursive parser is safe.
    ///
    /// The parser checks everything else.
    static func check(_ bytes: [UInt8]) throws(MessageFault) {
        var scanner = JSONScanner(bytes)
        guard let first = scanner.next(), bytes[first.range.lowerBound] == UInt8(ascii: "{") else { throw .notAnObject }
        var depth = 1
        while let token = scanner.next() {
            switch token.kind {
            case .opening:
                depth += 1
                if depth > depthLimit { throw .tooDeep(limit: depthLimit) }
            case .closing: depth -= 1
            case .comma, .colon, .string, .word: break
            }
        }
    }
}

/// A call about one app in the form that almost all clients use, parsed without a decoder.
///
/// `{"method":"M","parameters":{"name":"N","wait":true}}`: these members in this order, without escapes; `wait` may be
/// missing, and blanks are ignored. After a pause, a decoder takes a tenth of a millisecond for it, a sixth of a
/// launch.
struct PlainCall {
    let method: String
    let request: AppRequest

    /// Nil for any other message, valid or not, which the decoder then reads.
    init?(decoding bytes: [UInt8]) {
        var reader = PlainReader(bytes)
        guard reader.skips("{"), reader.skips("\"method\""), reader.skips(":"), let method = reader.text(),
            reader.skips(","), reader.skips("\"parameters\""), reader.skips(":"),
            reader.skips("{"), reader.skips("\"name\""), reader.skips(":"), let name = reader.text()
        else { return nil }
        var waits = false
        if reader.skips(",") {
            guard reader.skips("\"wait\""), reader.skips(":") else { return nil }
            guard let value = reader.truth() else { return nil }
            waits = value
        }
        guard reader.skips("}"), reader.skips("}"), reader.isAtEnd else { return nil }
        self.method = method
        request = AppRequest(name, waits: waits)
    }
}
