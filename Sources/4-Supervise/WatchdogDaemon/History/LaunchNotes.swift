// SPDX-License-Identifier: Apache-2.0

package import WatchdogHistory
package import WatchdogLinux
package import WatchdogPolicy

/// What the history remembers of a launch until it is over.
package struct LaunchNotes {
    /// How far the record of the launch is.
    private enum Record {
        /// Not written.
        case awaited
        /// Written; what the app marks completes it.
        case open
        /// Nothing that the app says from now on belongs to its launch.
        case closed
    }

    /// What is to be kept now.
    package enum Step: Equatable {
        /// The record of a launch that is ready.
        case ready(ReadinessSource)
        /// The record of a launch that never was.
        case ended
        /// What became known of a launch whose record is written.
        case complete([KeptLaunch.Moment: Duration])
    }

    /// Why it was launched.
    package var cause = "unknown"
    /// The process's folder in `/proc`; nil before the launch, and once it is in the history.
    package var folder: OwnedDescriptor?
    /// What was launched, as soon as it is known.
    package var version = ProgramVersion()
    /// The number of the record that waits for what is looked up; nil without one.
    var pending: Int?
    /// Whether the end of the process is in the history already.
    package private(set) var isOver = false
    private var record = Record.awaited

    /// Whether the record of the launch is in the history already, or about to be.
    var isRecorded: Bool { record != .awaited }

    /// Takes over from the previous watchdogd.
    package mutating func follow(_ machine: ProcessMachine) {
        let hasMoved = machine.lifecycleRecord.moments.contains { [.background, .suspended].contains($0.state) }
        if machine.launchDuration != nil { record = hasMoved ? .closed : .open }
        if case .ended = machine.phase { isOver = true }
    }

    /// Decides what a notice adds to the history.
    ///
    /// The record is written when the app is ready, so that no end of watchdogd takes it along, and completed until the app is
    /// asked to do something else: an app that comes back from the background draws a frame, too, but not of its launch.
    package mutating func step(_ notice: Notice) -> Step? {
        switch notice {
        case .ready(let source, _) where record == .awaited:
            record = .open
            return .ready(source)
        case .marked(let mark, let after) where record == .open: return .complete([mark.moment: after])
        case .lifecycle(.moving), .lifecycle(.entered), .lifecycle(.suspended), .terminating:
            if record == .open { record = .closed }
            return nil
        default: return nil
        }
    }

    /// Decides what the end of the process adds; nil if it has ended before.
    package mutating func end() -> Step? {
        guard !isOver else { return nil }
        isOver = true
        defer { record = .closed }
        // Tasks that were begun and never ended.
        return record == .awaited ? .ended : .complete([:])
    }
}

extension LaunchMark {
    fileprivate var moment: KeptLaunch.Moment {
        switch self {
        case .firstFrame: .firstFrame
        case .useful: .useful
        case .extended: .extended
        }
    }
}
