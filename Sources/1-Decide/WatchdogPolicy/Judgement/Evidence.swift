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
    /// Who stopped or traced the process that has not answered the latest probe, if that is not the main process.
    ///
    /// It concerns only probes, and is not saved: it is found again.
    public var serverPause: Pause?

    private enum CodingKeys: String, CodingKey {
        case letter, tracer, isFrozen, isDumpingCore, runTime, runDelay
    }

    /// Creates evidence.
    public init(
        state: Character?,
        tracer: Int32? = nil,
        isFrozen: Bool = false,
        isDumpingCore: Bool = false,
        runTime: Duration = .zero,
        runDelay: Duration = .zero,
        serverPause: Pause? = nil
    ) {
        self.letter = state.map { String($0) }
        self.tracer = tracer
        self.isFrozen = isFrozen
        self.isDumpingCore = isDumpingCore
        self.runTime = runTime
        self.runDelay = runDelay
        self.serverPause = serverPause
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

    /// The evidence that is saved.
    var ofMainProcess: Evidence {
        var copy = self
        copy.serverPause = nil
        return copy
    }

    /// Who holds up the answer to a probe: of the main process, or else of the process that should give it.
    var probedPause: Pause? { pause ?? serverPause }
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

    private enum CodingKeys: String, CodingKey { case traced, stopped, frozen, dumpingCore }
    private enum TracedCodingKeys: String, CodingKey { case by }
}
