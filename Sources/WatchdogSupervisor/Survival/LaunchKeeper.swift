// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// Keeps one launch's state where the next watchdogd finds it.
///
/// All of it is written when it has changed, and before anything is done that cannot be undone; after each ping only a
/// pulse is. What is merely counted, and what the app says of itself, may be older than the rest by ``patience``.
///
/// Isolation: the loop's thread.
final class LaunchKeeper {
    /// How old counts and texts may be.
    private static let patience = Duration.seconds(60)

    private let path: String
    private var file: StateFile?
    private let launchID: IncidentID
    private var saved: AppMachine.Checkpoint?
    private var savedAt = Instant(nanoseconds: 0)
    private var isDirty = false
    /// Apps cause checkpoints, for example by asking for more time again and again.
    private var limiter = RateLimiter(capacity: 20, refillPerSecond: 10)
    /// Why the last write did not succeed.
    private(set) var failure: LinuxError?

    /// Begins to keep a launch; the file is made when there is something to go on with.
    init(_ launchID: IncidentID, creating path: String) {
        self.path = path
        self.launchID = launchID
    }

    /// Goes on with a file.
    ///
    /// - Parameters:
    ///   - file: read, and not written to yet.
    ///   - saved: the machine that is in it.
    init(_ launchID: IncidentID, _ file: StateFile, holding saved: AppMachine, at now: Instant) {
        path = file.path
        self.file = file
        self.launchID = launchID
        self.saved = AppMachine.Checkpoint(of: saved)
        savedAt = now
    }

    /// The name under which the service manager has the descriptors.
    var storeName: String { launchID.description }

    /// The launch is over.
    func remove() {
        file?.remove()
        file = nil
    }

    /// Before something is done that cannot be undone: should watchdogd end now, it may have been done or not.
    func prepare(_ state: LaunchState, at now: Instant) {
        checkpoint(state, at: now)
    }

    /// After everything is done.
    func keep(
        _ machine: inout AppMachine, at now: Instant, pulse: (AppMachine.Pulse?) -> LaunchPulse,
        _ state: (AppMachine) -> LaunchState?
    ) {
        let change = machine.change(since: saved)
        let isOld = now - savedAt > Self.patience
        if isDirty || isOld || change.isWhole {
            isDirty = true
            if limiter.admit(at: now.nanoseconds), let state = state(machine) { checkpoint(state, at: now) }
        }
        let pulse = pulse(change.pulse)
        write { file throws(LinuxError) in try file.write(pulse: pulse.bytes) }
    }

    /// Whatever the state, as it is now.
    func flush(_ state: LaunchState, pulse: LaunchPulse, at now: Instant) {
        checkpoint(state, at: now)
        write { file throws(LinuxError) in try file.write(pulse: pulse.bytes) }
    }

    /// The next ``keep(_:at:pulse:_:)`` writes all of it.
    func setDirty() {
        isDirty = true
    }

    private func checkpoint(_ state: LaunchState, at now: Instant) {
        saved = AppMachine.Checkpoint(of: state.machine)
        savedAt = now
        isDirty = false
        guard let bytes = try? state.encoded() else { return }
        guard bytes.count > LaunchState.capacity else { return write(bytes) }
        // Arguments and environment have 2 MiB at the most; reports can do without.
        var short = state
        short.program.environment = []
        short.program.arguments = Array(short.program.arguments.prefix(16))
        if let bytes = try? short.encoded() { write(bytes) }
    }

    private func write(_ checkpoint: [UInt8]) {
        do throws(LinuxError) {
            if file == nil {
                file = try StateFile(creating: path, format: LaunchState.format, capacity: LaunchState.capacity)
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
