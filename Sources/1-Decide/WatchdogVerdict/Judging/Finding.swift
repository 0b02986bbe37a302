// SPDX-License-Identifier: Apache-2.0

/// A fact about a hang that symbol names reveal and the kernel's view does not, with the frames that show it.
public struct Finding: Codable, Hashable, Sendable {
    /// Kinds of findings.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A name lookup.
        case nameLookup = "name-lookup"
        /// SQLite is waiting for a lock on its database.
        case sqliteBusy = "sqlite-busy"
        /// SQLite is writing or syncing its database.
        case sqliteWrite = "sqlite-write"
        /// A libdispatch semaphore.
        case dispatchSemaphore = "dispatch-semaphore"
        /// A libdispatch group.
        case dispatchGroup = "dispatch-group"
        /// `DispatchQueue.sync`: waiting for a queue.
        case dispatchSync = "dispatch-sync"
        /// A one-time initializer that another thread is running.
        case oneTimeInitialiser = "one-time-initialiser"
        /// A task on the main actor works or waits without suspending.
        case mainActorWork = "main-actor-work"
        /// Every thread of Swift's cooperative pool is busy.
        case cooperativePoolFull = "cooperative-pool-full"
        /// Python's global interpreter lock.
        case pythonGIL = "python-gil"
        /// A lock of Python's threading module.
        case pythonLock = "python-lock"
        /// All threads that run Python code wait for such locks.
        case pythonDeadlock = "python-deadlock"
        /// A lock, or another thread, of a Java virtual machine.
        case javaLock = "java-lock"
        /// All threads that run Java code wait, several of them for locks.
        case javaDeadlock = "java-deadlock"
        /// No thread of a Go program has a goroutine to run.
        case goroutinesWait = "goroutines-wait"
        /// What a goroutine of a Go program waits for, mostly the one that runs `main`.
        case goroutineWait = "goroutine-wait"
        /// All goroutines of a Go program wait, several of them for locks.
        case goroutineDeadlock = "goroutine-deadlock"
        /// A Mutex or RwLock of Rust.
        case rustLock = "rust-lock"
        /// A channel of Rust.
        case channel
        /// A std::future of C++.
        case future
        /// A condition variable.
        case conditionVariable = "condition-variable"
        /// A read-write lock.
        case readWriteLock = "read-write-lock"
        /// A POSIX semaphore.
        case posixSemaphore = "posix-semaphore"
        /// A thread barrier.
        case barrier
        /// The allocator's lock.
        case allocatorLock = "allocator-lock"
        /// Another lock of the C library.
        case libraryLock = "library-lock"
        /// A wait that only another thread could end, in a process without one.
        case noOtherThread = "no-other-thread"
        /// Sleeps between which the thread checks for something.
        case repeatedSleep = "repeated-sleep"
        /// The dynamic loader's lock, or a library's initializer.
        case loader
        /// A page of a file is being read from disk.
        case pageIn = "page-in"
        /// A sync to disk.
        case diskSync = "disk-sync"
        /// A lower-priority thread holds what the main thread waits for, and gets no CPU.
        case priorityInversion = "priority-inversion"
        /// A wait for a child process.
        case childProcess = "child-process"
        /// A connection is being established.
        case connecting
        /// A regular expression.
        case regularExpression = "regular-expression"
        /// A cycle of `DispatchQueue.sync` calls.
        case dispatchDeadlock = "dispatch-deadlock"
        /// An idle event loop.
        case idleEventLoop = "idle-event-loop"
        /// A lock inside a database server.
        case databaseLock = "database-lock"
        /// An answer from a database server.
        case databaseAnswer = "database-answer"
        /// A script that runs inside the program.
        case embeddedScript = "embedded-script"
        /// A runtime collects garbage.
        case garbageCollection = "garbage-collection"
        /// Another thread, if the main thread itself is not the cause.
        case otherThread = "other-thread"
        /// Another process of the app, if the main thread only waits for it or for events.
        case otherProcess = "other-process"
    }

    /// The kind of the finding.
    public var kind: Kind
    /// One line for the reader, without a trailing period.
    public var text: String
    /// The frames or files that show it.
    public var source: String
    /// The kernel's thread ID of another thread that is involved.
    public var thread: Int?
    /// The IDs of the other processes that are involved; nil without any.
    public var processes: [Int]?
    /// The ID of the goroutine that is the subject; nil in programs that are not written in Go.
    public var goroutine: Int?
    /// Whether the named other thread only sleeps, which may be normal; not included in reports.
    package var isAsleep = false

    private enum CodingKeys: String, CodingKey {
        case kind, text, source, thread, processes, goroutine
    }

    /// The text in the middle of a sentence.
    package var clause: String { Self.clause(text[...]) }

    /// Text of a finding in the middle of a sentence.
    static func clause(_ words: Substring) -> String {
        properNouns.contains { words.hasPrefix($0) } ? String(words) : words.prefix(1).lowercased() + words.dropFirst()
    }

    private static let properNouns = ["Java", "Python", "Swift", "Ruby", "Go "]

    /// Creates a finding.
    public init(
        kind: Kind, text: String, source: String, thread: Int? = nil, processes: [Int]? = nil, goroutine: Int? = nil
    ) {
        self.kind = kind
        self.text = text
        self.source = source
        self.thread = thread
        self.processes = processes
        self.goroutine = goroutine
    }
}
