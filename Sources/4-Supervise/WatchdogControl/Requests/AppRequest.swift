// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Launch`, `Terminate`, `Restart`, `Foreground`, `Background`, `Suspend`, `Resume` and `ReloadApp`.
public struct AppRequest: ControlRequest {
    /// The app's name.
    public var name: String
    /// Whether to reply when the request is complete, rather than when it is accepted.
    public var waits: Bool

    /// Creates the parameters.
    public init(_ name: String, waits: Bool = false) {
        self.name = name
        self.waits = waits
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name
        case waits = "wait"
    }

    /// The request as JSON if its name needs no escapes; nil otherwise.
    var plainJSON: String? { Self.isPlain(name) ? "{\"name\":\"\(name)\",\"wait\":\(waits)}" : nil }

    /// Whether a text needs no escapes in JSON.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x1f && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// Decodes parameters; the default for `wait` is false.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        waits = try container.decodeIfPresent(Bool.self, forKey: .waits) ?? false
    }
}
