// SPDX-License-Identifier: Apache-2.0

/// The reply to `org.varlink.service.GetInfo`.
public struct ServiceInfo: ControlReply {
    /// The vendor of the service.
    public var vendor: String
    /// The name of the service.
    public var product: String
    /// Its version.
    public var version: String
    /// The address of its documentation.
    public var url: String
    /// The interfaces it implements.
    public var interfaces: [String]

    /// Creates the reply of a watchdogd of this version.
    public init(version: String, url: String = "") {
        self.vendor = "watchdogd"
        self.product = "watchdogd"
        self.version = version
        self.url = url
        self.interfaces = [ControlInterface.serviceName, ControlInterface.name]
    }
}
