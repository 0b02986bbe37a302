// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Launches that have something in common, counted.
public struct LaunchGroup: Equatable, Sendable {
    /// What launches are grouped by.
    public enum Key: String, Sendable, CaseIterable {
        /// The app's name.
        case app
        /// The program's version.
        case version
        /// The machine.
        case host
        /// Launch or resume, cold or warm.
        case kind
        /// Why the app was launched.
        case cause
    }

    /// What they have in common: a name, a version, `cold launch`.
    public var label: String
    /// How many there were, also those that never became ready.
    public var count: Int
    /// How many were only assumed to be ready, because the app had said nothing.
    public var assumed: Int
    /// The durations of those that became ready.
    public var durations: DurationBuckets
    /// When the first of them was requested.
    public var first: WallTime
    /// When the last of them was requested.
    public var last: WallTime

    /// How many never became ready.
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

/// How long a phase of launches took.
public struct PhaseSummary: Equatable, Sendable {
    /// Which.
    public var phase: LaunchPhaseName
    /// Its durations in all launches in which it ended, also those that never became ready.
    public var durations: DurationBuckets

    /// Creates a summary.
    public init(phase: LaunchPhaseName, durations: DurationBuckets) {
        self.phase = phase
        self.durations = durations
    }
}

/// How long launches took until a moment that not every app has.
public struct MomentSummary: Equatable, Sendable {
    /// Which.
    public var moment: KeptLaunch.Moment
    /// The times from the request, in all launches in which the moment came, also those that never became ready.
    public var durations: DurationBuckets

    /// Creates a summary.
    public init(moment: KeptLaunch.Moment, durations: DurationBuckets) {
        self.moment = moment
        self.durations = durations
    }
}

extension KeptLaunch.Moment {
    /// The moments that are summarized: those that not every app has, in the order in which they usually come.
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
    /// What the launches are grouped by.
    public var key: LaunchGroup.Key
    /// The groups: those of a version in the order of their first launch, others the largest first.
    public var groups: [LaunchGroup]
    /// The phases of all the launches, in their order; empty without an app, or if none is known.
    public var phases: [PhaseSummary]
    /// The times until moments that not every app has; empty without an app, or if none is known.
    public var moments: [MomentSummary]
    /// The version of the first launch; nil without an app or without launches.
    public var firstVersion: ProgramVersion?
    /// The version of the last launch.
    public var lastVersion: ProgramVersion?

    /// Creates a table.
    public init(
        app: String?, key: LaunchGroup.Key, groups: [LaunchGroup], phases: [PhaseSummary] = [],
        moments: [MomentSummary] = [], firstVersion: ProgramVersion? = nil, lastVersion: ProgramVersion? = nil
    ) {
        self.app = app
        self.key = key
        self.groups = groups
        self.phases = phases
        self.moments = moments
        self.firstVersion = firstVersion
        self.lastVersion = lastVersion
    }

    /// All groups together; nil if there are none.
    public var total: LaunchGroup? {
        guard var total = groups.first else { return nil }
        for group in groups.dropFirst() { total.add(group) }
        total.label = "all"
        return total
    }
}
