// SPDX-License-Identifier: Apache-2.0

/// The parameters of `SendEvent`.
public struct EventRequest: ControlRequest {
    /// The maximum length of kind and payload in bytes; each is one line.
    public static let limits = (kind: 64, payload: 2_048)

    /// The app's name.
    public var name: String
    /// The kind of the event, such as `url`.
    public var kind: String
    /// Details, which only the app interprets.
    public var payload: String?
    /// Whether to reply when the app has handled the event, rather than when it was sent.
    public var waits: Bool
    /// Whether to launch the app for the event if it is not running.
    public var launches: Bool

    /// Creates the parameters.
    public init(_ name: String, kind: String, payload: String? = nil, waits: Bool = false, launches: Bool = false) {
        self.name = name
        self.kind = kind
        self.payload = payload
        self.waits = waits
        self.launches = launches
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name
        case kind
        case payload
        case waits = "wait"
        case launches = "launch"
    }

    /// Decodes parameters; the default for `wait` and `launch` is false.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        kind = try container.decode(String.self, forKey: .kind)
        payload = try container.decodeIfPresent(String.self, forKey: .payload)
        waits = try container.decodeIfPresent(Bool.self, forKey: .waits) ?? false
        launches = try container.decodeIfPresent(Bool.self, forKey: .launches) ?? false
    }

    /// Rejects kinds and payloads that would not reach the app unchanged.
    func check() throws(ControlError) {
        guard (1...Self.limits.kind).contains(kind.utf8.count), Self.isLine(kind) else {
            throw .invalidParameter("kind")
        }
        guard (payload ?? "").utf8.count <= Self.limits.payload, Self.isLine(payload ?? "") else {
            throw .invalidParameter("payload")
        }
    }

    private static func isLine(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0 == "\n" || $0 == "\r" || $0 == "\0" }
    }
}
