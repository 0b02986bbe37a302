// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

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

/// The reply to `Launch` and `Restart`.
public struct LaunchReply: ControlReply {
    /// The main process; nil before it is started.
    public var pid: Int32?

    /// The exit of an app that completed its work before it was ready: "exited with code 0".
    public var ended: String?

    /// Creates a reply.
    public init(pid: Int32? = nil, ended: String? = nil) {
        self.pid = pid
        self.ended = ended
    }
}

/// The reply to `Terminate`.
public struct TerminateReply: ControlReply {
    /// Whether no process of the app remains; false if that is still pending.
    public var isGone: Bool

    /// Creates a reply.
    public init(isGone: Bool) {
        self.isGone = isGone
    }
}

/// The reply to `Foreground`, `Background`, `Suspend`, `Resume` and `SendEvent`.
public struct LifecycleReply: ControlReply {
    /// The app's state now: a raw value of `LifecycleState`.
    public var state: String

    /// Creates a reply.
    public init(state: LifecycleState) {
        self.state = state.rawValue
    }
}
