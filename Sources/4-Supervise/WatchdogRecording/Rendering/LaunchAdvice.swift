// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// What could make a launch faster: one sentence, with the figure that it rests on.
///
/// Nothing is advised without evidence in the recording, and nothing that took less than ``leastShare`` of the launch
/// or less than ``leastTime``.
struct LaunchAdvice: Equatable {
    /// Its subject.
    enum Kind: Equatable {
        case contention, inversion, ownThread, files, network, sockets, sleep, child, wrappers
        case libraryConstructors, ownConstructors, linking, unusedLibraries, lateLibraries, work
    }

    /// 5 % of the launch, in thousandths.
    static let leastShare = 50
    /// Shorter times vary too much from launch to launch.
    static let leastTime = Duration.milliseconds(5)
    /// The share of the launch in thousandths beyond which waiting for a CPU spoils the recording.
    static let mostWaiting = 100
    /// With fewer samples, a library without one may well be in use.
    static let enoughSamples = 100

    let kind: Kind
    /// The time that could be saved at best.
    let time: Duration
    let sentence: String

    /// Everything that applies, the longest time first.
    static func all(_ figures: LaunchFigures) -> [LaunchAdvice] {
        let all = waits(figures) + loading(figures) + work(figures)
        return all.sorted { $0.time > $1.time }
    }

    /// Whether a time is worth a sentence.
    static func matters(_ time: Duration, _ figures: LaunchFigures) -> Bool {
        time >= leastTime && LaunchFigures.tenths(time, of: figures.length) >= leastShare
    }

    /// A time with its share of the launch: `754 ms (33 %)`.
    static func share(_ time: Duration, _ figures: LaunchFigures) -> String {
        "\(time.brief) (\(LaunchFigures.percent(time, of: figures.length)))"
    }

    /// A warning if the times say more about the machine than about the program.
    static func warning(_ figures: LaunchFigures) -> String? {
        guard let time = figures.mainTime, LaunchFigures.tenths(time.waiting, of: figures.length) > mostWaiting else {
            return nil
        }
        return
            "Warning: the program waited \(LaunchFigures.percent(time.waiting, of: figures.length)) of the time for a "
            + "CPU (its main thread: \(time.waiting.brief)); compare CPU times, not wall times."
    }

    /// Why better rungs were not reached, what was lost, and the recording's own notes.
    static func gaps(_ recording: LaunchRecording) -> [String] {
        let used = recording.ladder.first(where: \.used)?.rung
        var notes = recording.ladder.compactMap { attempt -> String? in
            guard !attempt.used, used.map({ attempt.rung < $0 }) ?? true, let reason = attempt.reason else {
                return nil
            }
            let remedy = attempt.remedy.map { "; to get it: \($0)" } ?? ""
            return "Rung \(attempt.rung.rawValue) (\(attempt.rung.words)) was not used: \(reason)\(remedy)."
        }
        if recording.lostRecords > 0 {
            let records = recording.lostRecords.counted("record")
            notes.append("The kernel lost \(records): lanes may have gaps. Record again on a quieter machine.")
        }
        return notes + recording.notes
    }
}

extension LaunchRecording {
    /// What could make the launch faster, as sentences with their figures, the most rewarding first.
    public var advice: [String] { LaunchAdvice.all(LaunchFigures(self)).map(\.sentence) }
}
