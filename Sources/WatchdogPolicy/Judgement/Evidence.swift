// SPDX-License-Identifier: Apache-2.0

/// What an examination finds when an allowance is exhausted: the second piece of evidence besides the deadline.
public struct Evidence: Hashable, Sendable, Codable {
    /// The main thread's state letter (proc_pid_stat(5), field 3); nil if it could not be read.
    public var state: Character? {
        get { letter?.first }
        set { letter = newValue.map { String($0) } }
    }
    private var letter: String?
    /// The tracer's pid (`TracerPid` in proc_pid_status(5)); nil if there is none.
    public var tracer: Int32?
    /// Whether its cgroup is frozen.
    public var isFrozen: Bool
    /// Whether the kernel is writing its core after a signal ended it.
    public var isDumpingCore: Bool
    /// CPU time of the main thread since the last ``ProcessEffect/beginWindow``.
    public var runTime: Duration
    /// Time in which the main thread was runnable without a CPU since the last ``ProcessEffect/beginWindow``.
    public var runDelay: Duration

    /// Creates evidence.
    public init(
        state: Character?,
        tracer: Int32? = nil,
        isFrozen: Bool = false,
        isDumpingCore: Bool = false,
        runTime: Duration = .zero,
        runDelay: Duration = .zero
    ) {
        self.letter = state.map { String($0) }
        self.tracer = tracer
        self.isFrozen = isFrozen
        self.isDumpingCore = isDumpingCore
        self.runTime = runTime
        self.runDelay = runDelay
    }

    /// Who stopped, froze or traced the process; nil if nobody did.
    public var pause: Pause? {
        if let tracer { return .traced(by: tracer) }
        if isFrozen { return .frozen }
        if isDumpingCore { return .dumpingCore }
        // "t" without a tracer: the tracer detached between the two readings, or could not be read.
        if state == "T" || state == "t" { return .stopped }
        return nil
    }
}

/// Why an allowance's clock stands still.
public enum Pause: Hashable, Sendable, Codable {
    /// A debugger is attached.
    case traced(by: Int32)
    /// Stopped by a signal.
    case stopped
    /// The cgroup is frozen.
    case frozen
    /// The kernel is writing its core.
    case dumpingCore
}
