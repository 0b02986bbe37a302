// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// How the supervisor probes an app's liveness: `Probe=` and related settings.
public struct ProbeSettings: Hashable, Sendable {
    /// What a probe does.
    public enum Target: Hashable, Sendable, Codable, CustomStringConvertible {
        /// `tcp:ADDR`, `unix:PATH`: connects, and the app must accept.
        case connect(NetworkAddress)
        /// `http://…`: sends a request and checks the response.
        case http(HTTPProbe)
        /// `exec:CMD`: a command for `/bin/sh -c` that must exit with code 0.
        case command(String)

        private enum CodingKeys: String, CodingKey { case connect, http, command }

        /// The target as it is written, with a long command truncated.
        public var description: String {
            switch self {
            case .connect(.tcp(let host, let port)): "tcp:\(NetworkAddress.tcp(host, port: port))"
            case .connect(let address): "unix:\(address)"
            case .http(let request): "http://\(request.authority)\(request.path)".singleLine(limit: 120)
            case .command(let command): "exec:\(command)".singleLine(limit: 120)
            }
        }
    }

    /// What a probe does.
    public var target: Target
    /// From the start of one probe to the start of the next, which never starts before the previous one has ended.
    public var interval: Duration = .seconds(3)
    /// How long a probe may take.
    public var timeout: Duration = .seconds(3)
    /// Consecutive failures that count as a hang.
    public var threshold = 3

    /// Creates a probe with the default times.
    public init(_ target: Target) {
        self.target = target
    }

    /// The probe in the form for the policy.
    public var probe: LivenessProbe {
        LivenessProbe(of: target.description, interval: interval, timeout: timeout, threshold: threshold)
    }
}

extension ProbeSettings {
    /// Why a text is not a probe target or not a list of status codes.
    public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a period.
        public let description: String
    }

    /// Parses `tcp:ADDR`, `unix:PATH`, `http://ADDR/PATH` or `exec:CMD`.
    public init(parsing text: String) throws(SyntaxError) {
        self.init(try Self.read { () throws(ValueError) in try ProbeReader.target(text) })
    }

    /// Parses status codes: `200-299` or `200 204`.
    public static func statuses(parsing text: String) throws(SyntaxError) -> [ClosedRange<Int>] {
        try read { () throws(ValueError) in try ProbeReader.statuses(text) }
    }

    private static func read<Value>(_ reader: () throws(ValueError) -> Value) throws(SyntaxError) -> Value {
        do {
            return try reader()
        } catch {
            throw SyntaxError(description: error.message)
        }
    }
}
