// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// An HTTP request that probes an app's liveness.
public struct HTTPProbe: Hashable, Sendable, Codable {
    /// The address to connect to.
    public var address: NetworkAddress
    /// The host and port as they were written, for the `Host` field.
    public var authority: String
    /// Path and query in printable ASCII, starting with `/`.
    public var path: String
    /// The status codes that count as success: `ProbeStatus=`.
    public var statuses: [ClosedRange<Int>]
    /// What the body must contain: `ProbeBody=`.
    public var body: String?

    private enum CodingKeys: String, CodingKey { case address, authority, path, statuses, body }

    /// Creates a request.
    public init(
        address: NetworkAddress, authority: String, path: String = "/", statuses: [ClosedRange<Int>] = [200...399],
        body: String? = nil
    ) {
        self.address = address
        self.authority = authority
        self.path = path
        self.statuses = statuses
        self.body = body
    }
}
