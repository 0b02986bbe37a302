// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

/// A report that lacks names, and what is needed to write it again with them.
///
/// The stacks are unwound anew: what was read of them without files of the app is a guess.
///
/// Isolation: any thread, one at a time.
final class UnnamedReport: NamingJob {
    /// What the report says until it has the names.
    static let note =
        "Names are missing. watchdogd tries for some minutes to add them to this report, and again if it is started anew; "
        + "later, 'watchdogd report symbolicate' may find them."
    /// How long one try may take.
    private static let time = Duration.seconds(120)

    let app: Int
    let incident: IncidentKey
    let facts: IncidentFacts
    let path: String
    var appName: String { facts.appName }
    var pid: Int { facts.pid }
    var id: IncidentID { facts.id }
    private let host: HostFacts
    private let stacks: UnnamedStacks
    /// The notes of the report as it was written; other notes mean that somebody has changed it.
    private let notes: [String]
    /// Whether the stacks are from a capture, and not from samples.
    private let hasCapture: Bool
    private let captured: Mutex<CapturedProcess?>
    private let samples: Mutex<ProcessSamples?>

    /// - Parameters:
    ///   - facts: as the report was written.
    ///   - captured: the stacks as they were written.
    ///   - stacks: what lacks names.
    init(
        app: Int, incident: IncidentKey, _ facts: IncidentFacts, _ host: HostFacts, _ captured: CapturedProcess?,
        _ stacks: UnnamedStacks, hasCapture: Bool, path: String
    ) {
        self.app = app
        self.incident = incident
        var facts = facts
        notes = Report(of: facts, on: host, capture: captured).body.linux?.notes ?? []
        facts.notes.removeAll { $0 == Self.note }
        self.facts = facts
        self.host = host
        self.stacks = stacks
        self.hasCapture = hasCapture
        self.path = path
        self.captured = Mutex(captured)
        samples = Mutex(facts.samples)
    }

    /// Names the stacks that lack names.
    ///
    /// - Returns: whether all have them now.
    func name(with symbolicator: Symbolicator) -> Bool {
        let deadline = Instant.now() + Self.time
        var isWhole = true
        if let main = stacks.main, captured.withLock({ $0?.shortage != nil }) {
            let named = symbolicator.symbolicate(main)
            isWhole = named.shortage == nil
            captured.withLock { if isWhole || named.nameCount > $0?.nameCount ?? 0 { $0 = named } }
        }
        if let sampling = stacks.sampling, Instant.now() < deadline {
            let named = sampling.samples(
                named: facts.appName, path: facts.executablePath, at: facts.captureTime, with: symbolicator)
            isWhole = isWhole && named.shortage == nil
            samples.withLock { $0 = named }
        }
        stacks.others?.retry(with: symbolicator, until: deadline)
        return isWhole && stacks.others?.isShort != true
    }

    /// The report as it should be now.
    ///
    /// - Parameters:
    ///   - stored: the report as it is on the disk.
    ///   - time: the time now.
    ///   - isWhole: whether all names were found.
    /// - Returns: nil if somebody else has changed it.
    func report(replacing stored: Report, at time: WallTime, isWhole: Bool) -> Report? {
        guard stored.body.incident == facts.id.description, stored.body.linux?.notes == notes else { return nil }
        var facts = facts
        let samples = samples.withLock(\.self)
        // A hang that ended by itself has no capture besides its samples.
        let captured = captured.withLock { hasCapture ? $0 : samples.map { CapturedProcess(mostlySeenIn: $0) } }
        facts.samples = hasCapture ? samples?.comparable(with: captured) : samples
        if let others = stacks.others {
            facts.others = others.processes(of: 0, besides: facts.pid)
            facts.strangers = others.processes(of: 1, besides: facts.pid)
        }
        facts.notes.append(Self.conclusion(at: time, isWhole: isWhole))
        var report = Report(of: facts, on: host, capture: captured)
        report.summarize(Explanation(of: report))
        report.takeRepeats(of: stored)
        return report
    }
}

extension CapturedProcess {
    /// How many frames have a name.
    fileprivate var nameCount: Int { threads.reduce(0) { $0 + $1.frames.count { $0.symbol != nil } } }
}
