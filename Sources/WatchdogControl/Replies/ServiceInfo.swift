// SPDX-License-Identifier: Apache-2.0

/// What `org.varlink.service.GetInfo` answers with.
public struct ServiceInfo: ControlReply {
    /// Who makes the service.
    public var vendor: String
    /// What it is called.
    public var product: String
    /// Its version.
    public var version: String
    /// Where to read about it.
    public var url: String
    /// What it can be asked for.
    public var interfaces: [String]

    /// Creates the answer of a watchdogd of this version.
    public init(version: String, url: String = "") {
        self.vendor = "watchdogd"
        self.product = "watchdogd"
        self.version = version
        self.url = url
        self.interfaces = [ControlInterface.serviceName, ControlInterface.name]
    }
}
