// SPDX-License-Identifier: Apache-2.0

/// The first line of an `.ips` file: the values for lists, and the type of the body.
public struct ReportMetadata: Codable, Equatable, Sendable {
    /// Values for lists without a key in Apple's format.
    public struct Linux: Codable, Equatable, Sendable {
        /// The process ID.
        public var pid: Int
        /// The watched event.
        public var event: String
        /// The verdict in a few words.
        public var verdict: String
        /// The hung party and the cause, in plain words; nil if no more than the verdict is known.
        public var culprit: String?
        /// The ID of the signature; nil in reports of earlier versions and of captures that are only shown.
        public var signature: String?
        /// Where the app was, `foreground` or `background`; nil if nobody reported it.
        public var role: String?
        /// The host.
        public var host: String?
        /// How many further incidents are only counted in this report; nil for none.
        public var repeats: Int?

        /// Creates the part from its values, without those that need an explanation of the report.
        public init(pid: Int, event: String, verdict: String) {
            self.pid = pid
            self.event = event
            self.verdict = verdict
        }
    }

    /// The name of the app.
    public var appName: String
    /// The time of the report, with two fractional digits of a second.
    public var timestamp: String
    /// The app version, or empty.
    public var appVersion: String?
    /// The build number of that version, or empty.
    public var buildVersion: String?
    /// The UUID of the executable.
    public var sliceUUID: String?
    /// Apple's platform number; absent in our reports, because there is none for Linux.
    public var platform: Int?
    /// The bundle identifier; in our reports the app's name.
    public var bundleID: String?
    /// Whether the report may be shared with app developers; always 0 here.
    public var shareWithAppDevs: Int?
    /// Whether the app is part of the system; always 0 here.
    public var isFirstParty: Int?
    /// `309`, a crash report in JSON.
    ///
    /// It is a string, because readers do not accept a number.
    public var bugType: String
    /// The name and build of the operating system.
    public var osVersion: String?
    /// Internal to Apple; always 0 here.
    public var rootsInstalled: Int?
    /// The process name.
    public var name: String?
    /// The incident's UUID.
    public var incidentID: String
    /// Values without a key in Apple's format; absent in foreign files.
    public var linux: Linux?

    /// The app version, or else the build; nil if neither is known.
    public var version: String? { [appVersion, buildVersion].lazy.compactMap(\.self).first { !$0.isEmpty } }

    /// Apple's bug type for a crash report with a JSON body.
    public static let crash = "309"

    /// Creates metadata with the values that every reader requires; the others are set afterward.
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
