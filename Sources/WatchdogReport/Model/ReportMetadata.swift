// SPDX-License-Identifier: Apache-2.0

/// The first line of an `.ips` file: what a list needs, and what tells readers how to go on.
public struct ReportMetadata: Codable, Equatable, Sendable {
    /// What Apple has no key for and a list shows.
    public struct Linux: Codable, Equatable, Sendable {
        /// The process.
        public var pid: Int
        /// What the app was watched for.
        public var event: String
        /// The verdict in a few words.
        public var verdict: String

        /// Creates the part from its values.
        public init(pid: Int, event: String, verdict: String) {
            self.pid = pid
            self.event = event
            self.verdict = verdict
        }
    }

    /// The app.
    public var appName: String
    /// When the report was taken, with two digits of the second's fraction.
    public var timestamp: String
    /// The app's version, or empty.
    public var appVersion: String?
    /// The build of the app's version, or empty.
    public var buildVersion: String?
    /// UUID of the executable.
    public var sliceUUID: String?
    /// Apple's number of the platform; absent in our reports, because none means Linux.
    public var platform: Int?
    /// The bundle identifier; in our reports the app's name.
    public var bundleID: String?
    /// Whether app developers may see the report; always 0 here.
    public var shareWithAppDevs: Int?
    /// Whether the app comes with the system; always 0 here.
    public var isFirstParty: Int?
    /// `309`, a crash report in JSON.
    ///
    /// A text: as a number, readers do not recognise it.
    public var bugType: String
    /// Name and build of the operating system.
    public var osVersion: String?
    /// Apple's internal; always 0 here.
    public var rootsInstalled: Int?
    /// The process's name.
    public var name: String?
    /// The incident's UUID.
    public var incidentID: String
    /// What Apple has no key for; absent in foreign files.
    public var linux: Linux?

    /// Apple's bug type of a crash report whose body is JSON.
    public static let crash = "309"

    /// Creates metadata with what every reader needs; set the rest afterwards.
    public init(appName: String, timestamp: String, incidentID: String, bugType: String = crash) {
        self.appName = appName
        self.timestamp = timestamp
        self.incidentID = incidentID
        self.bugType = bugType
    }

    enum CodingKeys: String, CodingKey {
        case appName = "app_name"
        case timestamp
        case appVersion = "app_version"
        case buildVersion = "build_version"
        case sliceUUID = "slice_uuid"
        case platform
        case bundleID
        case shareWithAppDevs = "share_with_app_devs"
        case isFirstParty = "is_first_party"
        case bugType = "bug_type"
        case osVersion = "os_version"
        case rootsInstalled = "roots_installed"
        case name
        case incidentID = "incident_id"
        case linux
    }
}
