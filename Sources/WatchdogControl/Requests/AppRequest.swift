// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Launch`, `Terminate`, `Restart`, `Foreground`, `Background`, `Suspend`, `Resume` and `ReloadApp`.
public struct AppRequest: ControlRequest {
    /// Which app.
    public var name: String
    /// True when the answer is to come when it is done, and not when the request is accepted.
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

    /// Reads parameters; without `wait`, nobody waits.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        waits = try container.decodeIfPresent(Bool.self, forKey: .waits) ?? false
    }
}
