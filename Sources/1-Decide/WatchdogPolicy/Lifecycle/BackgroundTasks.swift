// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The open background tasks, and what is wrong with them.
struct BackgroundTasks: Hashable, Sendable {
    enum Beginning {
        /// A task with this number is already open.
        case repeated
        case ignored
        case begun(wasIdle: Bool, isFlood: Bool)
    }

    /// Whether too many tasks are open.
    private enum Flood: Hashable, Sendable {
        case none
        case found(at: Instant)
        case decided
    }

    private(set) var open: [BackgroundTask] = []
    private(set) var count = 0
    /// When the next task becomes old enough for a warning.
    private(set) var warning: Instant?
    /// Tasks that a warning was given for.
    private var warned: Set<UInt64> = []
    private var flood = Flood.none

    var floodedAt: Instant? { if case .found(let at) = flood { at } else { nil } }

    mutating func begin(_ id: UInt64, _ name: String, _ turn: Turn) -> Beginning {
        let limit = turn.spec.lifecycle.taskLimit
        guard !open.contains(where: { $0.id == id }) else { return .repeated }
        // One task over the limit is enough to judge; later ones are part of the same flood.
        guard open.count <= limit else { return .ignored }
        let wasIdle = open.isEmpty
        open.append(BackgroundTask(id: id, name: name, begunAt: turn.now))
        count += 1
        scheduleWarning(turn)
        let isFlood = open.count > limit && flood != .decided
        if isFlood, flood == .none { flood = .found(at: turn.now) }
        return .begun(wasIdle: wasIdle, isFlood: isFlood)
    }

    /// Returns false if no such task is open.
    mutating func end(_ id: UInt64, _ turn: Turn) -> Bool {
        guard let index = open.firstIndex(where: { $0.id == id }) else { return false }
        open.remove(at: index)
        warned.remove(id)
        scheduleWarning(turn)
        return true
    }

    mutating func decideFlood() { flood = .decided }

    private mutating func scheduleWarning(_ turn: Turn) {
        let next = open.first { !warned.contains($0.id) }
        warning = next.map { $0.begunAt + turn.spec.lifecycle.taskWarning }
    }

    mutating func warn(_ turn: inout Turn) {
        guard let warning, turn.now >= warning else { return }
        for task in open where !warned.contains(task.id) {
            guard turn.now >= task.begunAt + turn.spec.lifecycle.taskWarning else { break }
            warned.insert(task.id)
            turn.announce(lifecycle: .longTask(task, age: turn.now - task.begunAt))
        }
        scheduleWarning(turn)
    }

    /// Drops all tasks, because the app no longer reports them.
    mutating func drop() {
        open = []
        end()
    }

    mutating func end() {
        warning = nil
        if flood != .decided { flood = .none }
    }
}

extension BackgroundTasks {
    init(_ saved: SavedTasks) {
        open = saved.open
        count = saved.count
        warning = saved.warning
        warned = Set(saved.warned)
        flood = saved.isFloodDecided ? .decided : saved.floodedAt.map { .found(at: $0) } ?? .none
    }

    var saved: SavedTasks {
        SavedTasks(
            open: open, count: count, warning: warning, warned: warned.sorted(), floodedAt: floodedAt,
            isFloodDecided: flood == .decided)
    }
}

/// Work that an app wants to continue in the background.
public struct BackgroundTask: Hashable, Sendable, Codable {
    /// The app's number for it.
    public let id: UInt64
    /// What it is, as named by the app.
    public let name: String
    /// When the app began it.
    public let begunAt: Instant

    private enum CodingKeys: String, CodingKey { case id, name, begunAt }

    /// Creates a task.
    public init(id: UInt64, name: String, begunAt: Instant) {
        self.id = id
        self.name = name
        self.begunAt = begunAt
    }
}
