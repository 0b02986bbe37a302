// SPDX-License-Identifier: Apache-2.0

/// The goroutines of a Go program.
public struct CapturedGoroutines: Codable, Sendable, Equatable {
    /// Go's version, such as `go1.22.10`; nil if unknown.
    public var version: String?
    /// How many goroutines exist, those of the runtime included.
    public var count: Int
    /// How many of them run, could run, or are in a system call.
    public var activeCount: Int
    /// Whether all were looked at.
    public var isComplete: Bool
    /// The app's goroutines, goroutine 1 first, which runs `main`; not all of a crowd.
    public var shown: [CapturedGoroutine]

    /// Creates the values.
    public init(
        version: String? = nil, count: Int, activeCount: Int = 0, isComplete: Bool = true, shown: [CapturedGoroutine]
    ) {
        self.version = version
        self.count = count
        self.activeCount = activeCount
        self.isComplete = isComplete
        self.shown = shown
    }
}

/// A goroutine of a Go program, which stands for others with the same state and stack.
public struct CapturedGoroutine: Codable, Sendable, Equatable {
    /// The ID in Go's own messages; 1 runs `main`.
    public var id: Int
    /// What it does in Go's words, such as `sync.Mutex.Lock`, `chan receive` or `running`.
    public var state: String
    /// Whether it runs, could run, or is in a system call.
    public var isActive: Bool
    /// The least time for which it has waited; nil if unknown, as before the first garbage collection.
    public var waitNanoseconds: UInt64?
    /// The thread on which it runs, whose stack is the goroutine's; nil if there is none.
    public var thread: Int?
    /// The IDs of those that it stands for.
    public var others: [Int]
    /// The descriptors for which it and those that it stands for wait; empty if there are none, or if they are unknown.
    public var descriptors: [Int]
    /// The stack, innermost frame first; empty if it is that of a thread, or unknown.
    public var frames: [Frame]

    /// Creates the values.
    public init(
        id: Int, state: String, isActive: Bool = false, waitNanoseconds: UInt64? = nil, thread: Int? = nil,
        others: [Int] = [], descriptors: [Int] = [], frames: [Frame] = []
    ) {
        self.id = id
        self.state = state
        self.isActive = isActive
        self.waitNanoseconds = waitNanoseconds
        self.thread = thread
        self.others = others
        self.descriptors = descriptors
        self.frames = frames
    }

    /// How many goroutines have this state and stack.
    public var count: Int { 1 + others.count }
}

extension CapturedGoroutine {
    /// Whether the goroutine belongs to Go's runtime, according to its state and its functions.
    public static func isRuntimes(_ state: String, _ frames: [Frame]) -> Bool {
        if runtimeWaits.contains(state) || state.hasPrefix("GC ") { return true }
        let names = frames.compactMap(\.symbol)
        // In 1.23 and 1.24, package unique has a goroutine of the runtime.
        let isRuntimes = names.allSatisfy { $0.hasPrefix("runtime.") || $0.hasPrefix("unique.runtime_") }
        return !names.isEmpty && names.count == frames.count && isRuntimes
    }

    /// The state, with the object of package `sync` that is awaited: until Go 1.19 all of them are one wait to the runtime.
    public static func state(_ state: String, _ frames: [Frame]) -> String {
        guard ["semacquire", "sync.Mutex.Lock"].contains(state) else { return state }
        let calls = frames.map { $0.symbol ?? "" }.drop { $0.hasPrefix("runtime.") }
            .prefix { $0.hasPrefix("sync.") || $0.hasPrefix("internal/sync.") }
        guard let method = calls.last(where: { $0.hasPrefix("sync.(*") }) else { return state }
        let name = method.filter { !"(*)".contains($0) }
        guard name.hasSuffix("Slow") else { return name }
        // Lock() may be inlined, and lockSlow() is then the only frame.
        let parts = name.dropLast("Slow".count).split(separator: ".", omittingEmptySubsequences: false)
        return parts.map { part in part == parts.last ? part.prefix(1).uppercased() + part.dropFirst() : String(part) }
            .joined(separator: ".")
    }

    private static let runtimeWaits: Set<String> = [
        "force gc (idle)", "finalizer wait", "cleanup wait", "trace reader (blocked)", "timer goroutine (idle)",
        "GOMAXPROCS updater (idle)",
    ]
}
