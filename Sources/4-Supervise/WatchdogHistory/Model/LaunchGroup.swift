// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Statistics of launches with a common property.
public struct LaunchGroup: Equatable, Sendable {
    /// The property by which launches are grouped.
    public enum Key: String, Sendable, CaseIterable {
        /// The app's name.
        case app
        /// The program's version.
        case version
        /// The machine.
        case host
        /// Launch or resume, cold or warm.
        case kind
        /// The cause of the launch.
        case cause
    }

    /// The common property: a name, a version, `cold launch`.
    public var label: String
    /// The number of launches, including those that never became ready.
    public var count: Int
    /// The number of launches whose readiness was only assumed.
    public var assumed: Int
    /// The durations of the launches that became ready.
    public var durations: DurationBuckets
    /// The time of the first request.
    public var first: WallTime
    /// The time of the last request.
    public var last: WallTime

    /// The number of launches that never became ready.
    public var failures: Int { max(0, count - assumed - durations.count) }

    /// Creates a group.
    public init(
        label: String, count: Int, assumed: Int = 0, durations: DurationBuckets, first: WallTime, last: WallTime
    ) {
        self.label = label
        self.count = count
        self.assumed = assumed
        self.durations = durations
        self.first = first
        self.last = last
    }

    /// Adds the launches of another group.
    public mutating func add(_ other: LaunchGroup) {
        count += other.count
        assumed += other.assumed
        durations.add(other.durations)
        first = first.microseconds <= other.first.microseconds ? first : other.first
        last = last.microseconds >= other.last.microseconds ? last : other.last
    }
}

/// The durations of one phase.
public struct PhaseSummary: Equatable, Sendable {
    /// The phase.
    public var phase: LaunchPhaseName
    /// Its durations in all launches in which it ended, including those that never became ready.
    public var durations: DurationBuckets

    /// Creates a summary.
    public init(phase: LaunchPhaseName, durations: DurationBuckets) {
        self.phase = phase
        self.durations = durations
    }
}

/// The phases of one version's latest launches.
public struct VersionPhases: Equatable, Sendable {
    /// The version.
    public var label: String
    /// The phases in their order.
    public var phases: [PhaseSummary]

    /// Creates a value.
    public init(label: String, phases: [PhaseSummary]) {
        self.label = label
        self.phases = phases
    }
}

/// The times until an optional moment.
public struct MomentSummary: Equatable, Sendable {
    /// The moment.
    public var moment: KeptLaunch.Moment
    /// The times from the request, in all launches that reached the moment, including those that never became ready.
    public var durations: DurationBuckets

    /// Creates a summary.
    public init(moment: KeptLaunch.Moment, durations: DurationBuckets) {
        self.moment = moment
        self.durations = durations
    }
}

extension KeptLaunch.Moment {
    /// The optional moments, which are summarized, in their usual order.
    static let summarized: [KeptLaunch.Moment] = [.firstFrame, .useful, .extended]

    /// The name for people, after `from the request to`.
    var title: String {
        switch self {
        case .firstFrame: "first frame"
        case .extended: "the end of its launch tasks"
        case .exec, .hello, .ready, .useful: rawValue
        }
    }
}

/// The launches of one app, or of all apps.
public struct LaunchSummaryTable: Equatable, Sendable {
    /// The app; nil for all.
    public var app: String?
    /// The property by which the launches are grouped.
    public var key: LaunchGroup.Key
    /// The groups: versions in the order of their first launch, others by size, largest first.
    public var groups: [LaunchGroup]
    /// The phases of all the launches, in their order; empty without an app or without known phases.
    public var phases: [PhaseSummary]
    /// The phases of the latest versions, oldest first; empty unless the launches are grouped by version.
    public var versionPhases: [VersionPhases]
    /// The times until optional moments; empty without an app or without known moments.
    public var moments: [MomentSummary]
    /// The version of the first launch; nil without an app or without launches.
    public var firstVersion: ProgramVersion?
    /// The version of the last launch.
    public var lastVersion: ProgramVersion?

    /// Creates a table.
    public init(
        app: String?, key: LaunchGroup.Key, groups: [LaunchGroup], phases: [PhaseSummary] = [],
        versionPhases: [VersionPhases] = [], moments: [MomentSummary] = [], firstVersion: ProgramVersion? = nil,
        lastVersion: ProgramVersion? = nil
    ) {
        self.app = app
        self.key = key
        self.groups = groups
        self.phases = phases
        self.versionPhases = versionPhases
        self.moments = moments
        self.firstVersion = firstVersion
        self.lastVersion = lastVersion
    }

    /// The total of all groups; nil without groups.
    public var total: LaunchGroup? {
        guard var total = groups.first else { return nil }
        for group in groups.dropFirst() { total.add(group) }
        total.label = "all"
        return total
    }
}
