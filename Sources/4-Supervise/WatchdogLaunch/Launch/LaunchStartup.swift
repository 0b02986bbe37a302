// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogRecording

/// Records how the program of one launch starts, until the launch is over.
///
/// Isolation: the loop's thread.
final class LaunchStartup {
    private let host: Host
    private let tenant: Tenant
    /// One for all launches of the app: whoever serves the program's file can make its calls hang.
    private let lane: Int
    /// Nil before the process exists, where nothing is recorded, and after the launch.
    private var recorder: StartupRecorder?
    private var source: IOSource?
    private var setting: CallSource?
    /// Why nothing is recorded; nil if it is.
    private(set) var refusal: String?
    @Boxed private var last: StartupLog?

    init(_ host: Host, of tenant: Tenant) {
        self.host = host
        self.tenant = tenant
        lane = ["startup", tenant.app].hashValue
    }

    /// The launcher passes what the process waits for as a descriptor, which is lost where the table has no room for it.
    private static let notHeld = "it began before it could be recorded, as when too many files are open"

    private static let withdrawn =
        "the kernel stops recording a program that raises its privileges, or whose file its user may not read"

    /// Whether the kernel lets starts be recorded; stays so.
    var isPossible: Bool { host.perfEvents.map { $0.refusal == nil } ?? false }

    /// What to do with the process before it executes the program; nil if nothing can be recorded.
    var beginning: ((HeldProcess) -> Void)? {
        guard let events = host.perfEvents else { return nil }
        refusal = events.refusal
        guard refusal == nil else { return nil }
        // Unless it is called.
        refusal = Self.notHeld
        return { [weak self] in self?.begin($0) }
    }

    private func begin(_ process: HeldProcess) {
        stop()
        do throws(LinuxError) {
            let recorder = try StartupRecorder(process, by: host.copiers.copying(for: tenant, isBrief: true))
            source = try host.watch(recorder.descriptor, priority: .idle) { [unowned self] in drain() }
            // The process goes on when this returns, and another thread would take a CPU from it.
            setting = try host.loop.soon { [unowned self] in
                host.work.run(in: lane, within: .seconds(6), recorder.setting) { _ in }
            }
            self.recorder = recorder
            refusal = nil
        } catch {
            refusal = "\(error)"
        }
    }

    private func drain() {
        // Before the records are read: to ask takes the notice of a ring that has filled meanwhile. A descriptor that has
        // hung up stays readable.
        let isOver = recorder?.isOver != false
        _ = read()
        if isOver { endWatch() }
    }

    private func endWatch() {
        source?.cancel()
        source = nil
    }

    /// What has been recorded until now.
    func read() -> StartupReading {
        if let recorder { last = recorder.read() }
        guard last?.isWithdrawn != true else { return StartupReading(refusal: Self.withdrawn) }
        return last?.executed == nil ? StartupReading(refusal: refusal) : StartupReading($last, refusal: refusal)
    }

    /// Ends the recording.
    func stop() {
        endWatch()
        setting?.cancel()
        setting = nil
        recorder = nil
    }
}
