// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The state of a process that is saved for the next supervisor.
///
/// The types in this folder, and those that they hold, are the format: their coding keys and raw values stay the same,
/// however the machine names its parts. After a change, raise the version of the file that holds it.
public struct SavedProcess: Sendable, Equatable, Codable {
    /// The spec of the app.
    @Shared public private(set) var spec: AppSpec
    let life: Life
    let launch: SavedLaunch
    let watches: SavedWatches
    let death: SavedDeath
    /// The number of examinations so far, which is the number of the latest.
    let examinations: Int
    /// Nil for an app launched into the foreground to which nothing has happened.
    let lifecycle: SavedLifecycle?

    /// When the process started to run.
    public var launchedAt: Instant? { launch.startedAt }

    private enum CodingKeys: String, CodingKey { case spec, life, launch, watches, death, examinations, lifecycle }

    init(
        spec: Shared<AppSpec>, life: Life, launch: SavedLaunch, watches: SavedWatches, death: SavedDeath,
        examinations: Int, lifecycle: SavedLifecycle?
    ) {
        _spec = spec
        self.life = life
        self.launch = launch
        self.watches = watches
        self.death = death
        self.examinations = examinations
        self.lifecycle = lifecycle
    }
}

struct SavedLaunch: Sendable, Equatable, Codable {
    enum State: Sendable, Equatable, Codable {
        case none
        case spawning(requests: Int)
        case waiting
        case probing(next: Instant)
        case over

        private enum CodingKeys: String, CodingKey { case none, spawning, waiting, probing, over }
        private enum SpawningCodingKeys: String, CodingKey { case requests }
        private enum ProbingCodingKeys: String, CodingKey { case next }
    }

    let state: State
    let startedAt: Instant?
    let duration: Duration?
    let source: ReadinessSource?

    private enum CodingKeys: String, CodingKey { case state, startedAt, duration, source }
}

struct SavedDeath: Sendable, Equatable, Codable {
    /// Absent in states from before what the main process left behind was asked to end.
    let allowanceEnd: Instant?
    let budgetEnd: Instant?
    let status: ExitStatus?
    let isTreeEmpty: Bool
    let isInsisted: Bool
    let wasRequested: Bool

    private enum CodingKeys: String, CodingKey {
        case allowanceEnd, budgetEnd, status, isTreeEmpty, isInsisted, wasRequested
    }
}
