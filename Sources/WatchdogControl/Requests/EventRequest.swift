// SPDX-License-Identifier: Apache-2.0

/// The parameters of `SendEvent`.
public struct EventRequest: ControlRequest {
    /// The longest kind and payload that an app can be sent, in bytes: one line each.
    public static let limits = (kind: 64, payload: 2_048)

    /// Which app.
    public var name: String
    /// What has happened, such as `url`.
    public var kind: String
    /// More about it, whose meaning is the app's affair.
    public var payload: String?
    /// True when the answer is to come when the app has handled it, and not when it was sent.
    public var waits: Bool

    /// Creates the parameters.
    public init(_ name: String, kind: String, payload: String? = nil, waits: Bool = false) {
        self.name = name
        self.kind = kind
        self.payload = payload
        self.waits = waits
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name
        case kind
        case payload
        case waits = "wait"
    }

    /// Reads parameters; without `wait`, nobody waits.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        kind = try container.decode(String.self, forKey: .kind)
        payload = try container.decodeIfPresent(String.self, forKey: .payload)
        waits = try container.decodeIfPresent(Bool.self, forKey: .waits) ?? false
    }

    /// Refuses what would not reach the app as it is.
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
