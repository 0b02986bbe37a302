// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// Saves one launch's state for the next watchdogd.
///
/// The whole state is written after a change and before any irrevocable effect; a ping writes only a pulse. Counts and
/// the app's own statements may be older than the rest by ``patience``, and the last sign of life of an app that is not
/// pinged by half its allowance.
///
/// Isolation: the loop's thread.
package final class LaunchKeeper {
    /// The greatest age of saved counts and texts.
    private static let patience = Duration.seconds(60)

    private let path: String
    private var file: StateFile?
    private let launchID: IncidentID
    private var saved: ProcessMachine.Checkpoint?
    private var savedAt = Instant(nanoseconds: 0)
    /// The pulse written since the last checkpoint, if any.
    @Boxed private var savedPulse: LaunchPulse?
    private var isDirty = false
    /// Whether the next ``keep(_:at:pulse:_:)`` writes nothing: what it would write is in the file, or follows.
    private var skipsNext = false
    /// Saves what was postponed.
    private var postponed: CallSource?
    /// Apps can cause checkpoints, for example by asking for extensions repeatedly.
    private var limiter = TokenBucket(capacity: 20, perSecond: 10)
    /// Why the last write failed; nil if it succeeded.
    package private(set) var failure: LinuxError?

    /// Keeps a new launch; creates the file with the first checkpoint.
    init(_ launchID: IncidentID, creating path: String) {
        self.path = path
        self.launchID = launchID
    }

    /// Continues an existing file.
    ///
    /// - Parameters:
    ///   - file: read, but not yet written to.
    ///   - saved: the machine in the file.
    init(_ launchID: IncidentID, _ file: StateFile, holding saved: SavedProcess, at now: Instant) {
        path = file.path
        self.file = file
        self.launchID = launchID
        self.saved = ProcessMachine.Checkpoint(of: saved)
        savedAt = now
    }

    /// The name under which the service manager stores the descriptors.
    var storeName: String { launchID.description }

    /// Removes the file: the launch is over.
    package func remove() {
        file?.remove()
        file = nil
    }

    /// Saves the state before an irrevocable effect; if watchdogd ends now, the effect may or may not have happened.
    ///
    /// - Parameter spawns: whether the effect creates the process: that it has been requested is not saved again, because
    ///   the next watchdogd looks for the process anyway.
    package func prepare(_ state: LaunchState, at now: Instant, spawns: Bool = false) {
        defer { file?.close() }
        checkpoint(state, at: now)
        skipsNext = spawns
    }

    /// Saves what has changed after all effects are done.
    package func keep(
        _ machine: inout ProcessMachine, at now: Instant, pulse: (ProcessMachine.Pulse?) -> LaunchPulse,
        _ state: (ProcessMachine) -> LaunchState?
    ) {
        guard !skipsNext else { return skipsNext = false }
        defer { file?.close() }
        let change = machine.change(since: saved)
        let isOld = now - savedAt > Self.patience
        if isDirty || isOld || change.isWhole {
            isDirty = true
            if limiter.admit(at: now), let state = state(machine) { checkpoint(state, at: now) }
        }
        var pulse = pulse(change.pulse)
        pulse.isApproximate = true
        if let savedPulse, pulse.says(noMoreThan: savedPulse) { return }
        write(pulse)
        // Pings are too frequent to open the file for each one; an app without pings needs no open descriptor.
        let isPinged = change.pulse?.lastPingSent != nil
        if let file, file.staysOpen != isPinged { file.staysOpen = isPinged }
    }

    private func write(_ pulse: LaunchPulse) {
        savedPulse = pulse
        write { file throws(LinuxError) in try file.write(pulse: pulse.bytes) }
    }

    /// Saves the current state unconditionally.
    package func flush(_ state: LaunchState, pulse: LaunchPulse, at now: Instant) {
        defer { file?.close() }
        checkpoint(state, at: now)
        write(pulse)
    }

    /// Saves that the process runs when the loop has nothing better to do, unless something else is saved before.
    ///
    /// Most apps say that they are ready a moment later, and a crowd of launches has a loop to itself. Until then, the next
    /// watchdogd finds the process by the mark in its environment.
    ///
    /// - Parameter save: calls ``keep(_:at:pulse:_:)``.
    func postpone(on loop: EventLoop, _ save: @escaping () -> Void) {
        postponed = try? loop.soon(priority: .idle, handler: save)
        skipsNext = postponed != nil
    }

    /// Makes the next ``keep(_:at:pulse:_:)`` write the whole state.
    func setDirty() {
        isDirty = true
    }

    private func checkpoint(_ state: LaunchState, at now: Instant) {
        saved = ProcessMachine.Checkpoint(of: state.machine)
        savedAt = now
        savedPulse = nil
        isDirty = false
        skipsNext = false
        postponed?.cancel()
        postponed = nil
        guard let bytes = try? state.encoded() else { return }
        guard bytes.count > LaunchState.capacity else { return write(bytes) }
        // Arguments and environment take up to 2 MiB; reports can do without most of it.
        var short = state
        short.program.environment = []
        short.program.arguments = Array(short.program.arguments.prefix(16))
        if let bytes = try? short.encoded() { write(bytes) }
    }

    private func write(_ checkpoint: [UInt8]) {
        do throws(LinuxError) {
            if file == nil {
                file = try StateFile(
                    creating: path, format: LaunchState.format, capacity: LaunchState.capacity, staysOpen: false)
            }
        } catch {
            failure = error
        }
        write { file throws(LinuxError) in try file.write(checkpoint: checkpoint) }
    }

    private func write(_ body: (StateFile) throws(LinuxError) -> Void) {
        guard let file else { return }
        do throws(LinuxError) {
            try body(file)
            failure = nil
        } catch {
            failure = error
        }
    }
}
