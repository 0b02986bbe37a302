// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// How the supervisor finds out by itself whether an app lives: `Probe=` and what belongs to it.
public struct ProbeSettings: Hashable, Sendable {
    /// What a probe does.
    public enum Target: Hashable, Sendable, Codable, CustomStringConvertible {
        /// `tcp:ADDR`, `unix:PATH`: connects, and the app accepts.
        case connect(NetworkAddress)
        /// `http://…`: asks and looks at the answer.
        case http(HTTPProbe)
        /// `exec:CMD`: a command for `/bin/sh -c` that must exit with 0.
        case command(String)

        /// The target as it is written, a long command cut.
        public var description: String {
            switch self {
            case .connect(.tcp(let host, let port)): "tcp:\(NetworkAddress.tcp(host, port: port))"
            case .connect(let address): "unix:\(address)"
            case .http(let request): "http://\(request.authority)\(request.path)".shown(limit: 120)
            case .command(let command): "exec:\(command)".shown(limit: 120)
            }
        }
    }

    /// What a probe does.
    public var target: Target
    /// From the start of one probe to the start of the next, which never begins before the one before has ended.
    public var interval: Duration = .seconds(3)
    /// The time that a probe may take.
    public var timeout: Duration = .seconds(3)
    /// So many failures in a row make a hang.
    public var threshold = 3

    /// Creates a probe with the default times.
    public init(_ target: Target) {
        self.target = target
    }

    /// What the policy has to know of it.
    public var probe: LivenessProbe {
        LivenessProbe(of: target.description, interval: interval, timeout: timeout, threshold: threshold)
    }
}

extension ProbeSettings {
    /// Why a text names nothing that can be probed, or no status codes.
    public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a final stop.
        public let description: String
    }

    /// Reads `tcp:ADDR`, `unix:PATH`, `http://ADDR/PATH` or `exec:CMD`.
    public init(parsing text: String) throws(SyntaxError) {
        self.init(try Self.read { () throws(ValueError) in try ProbeReader.target(text) })
    }

    /// Reads status codes: `200-299` or `200 204`.
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

extension String {
    fileprivate func shown(limit: Int) -> String {
        count <= limit ? self : prefix(limit - 1) + "…"
    }
}
