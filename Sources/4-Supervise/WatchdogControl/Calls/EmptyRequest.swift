// SPDX-License-Identifier: Apache-2.0

/// The empty parameters of `List`, `DescribeDaemon`, `Metrics` and `GetInfo`.
public struct EmptyRequest: ControlRequest {
    /// Empty.
    public static let parameterNames: Set<String> = []

    /// Creates the parameters.
    public init() {}
}

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

/// The reply to `List`.
///
/// Each app is read when its entry is written, so a long list is not a snapshot of one instant.
public struct ListReply: ControlReply {
    /// All apps, sorted by name.
    public var apps: [AppSummary]
    /// The invalid files.
    public var invalidFiles: [InvalidFile]
    /// True if the client may see only the names and states of apps; otherwise nil.
    public var isWithheld: Bool?

    /// Creates a list.
    public init(apps: [AppSummary], invalidFiles: [InvalidFile] = [], isWithheld: Bool? = nil) {
        self.apps = apps
        self.invalidFiles = invalidFiles
        self.isWithheld = isWithheld
    }

    private enum CodingKeys: String, CodingKey {
        case apps
        case invalidFiles = "invalid"
        case isWithheld
    }
}

/// An invalid configuration file, whose app is therefore missing.
public struct InvalidFile: Hashable, Sendable, Codable {
    /// The name that the app would have.
    public var name: String
    /// The file's path.
    public var file: String
    /// The errors and warnings of the file.
    public var diagnostics: [ControlDiagnostic]

    /// Creates an invalid file.
    public init(name: String, file: String, diagnostics: [ControlDiagnostic]) {
        self.name = name
        self.file = file
        self.diagnostics = diagnostics
    }
}
