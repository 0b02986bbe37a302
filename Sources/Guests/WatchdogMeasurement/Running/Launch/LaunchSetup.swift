// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// The parameters that all launches share.
struct LaunchSetup {
    /// The program, without its standard streams and sockets.
    var request: SpawnRequest
    /// The name in messages.
    let name: String
    /// The environment variable that marks the program's processes.
    let marker: (name: String, value: String)
    /// The end of a launch; nil to choose by the program's behavior.
    let until: LaunchGoal?
    let timeLimit: Duration
    /// Whether the program's output is shown.
    let showsOutput: Bool
    /// Whether a failure counts as an end.
    let ignoresFailure: Bool
    /// Whether to record the files that the program maps.
    let mapsFiles: Bool
    /// The sockets to which the program reports its progress.
    let messages: LaunchMessages
    /// Readable when the user interrupts.
    let interruption: OwnedDescriptor
    let instructions: InstructionCounter

    /// Whether the launch must be polled, because the kernel does not announce the awaited event.
    var isPolling: Bool { mapsFiles || polls(.listen) || polls(.idle) }

    /// Whether to poll for this end.
    func polls(_ signal: LaunchGoal) -> Bool { until == nil || until == signal }

    /// The error of a launch that did not reach its end in time.
    var overdue: MeasuringError {
        let limit = TimeSpan.text(timeLimit)
        guard let until else {
            return .program(
                "\(name) did not send READY=1, listen, become idle or exit within \(limit); use --until, or a longer --time-limit"
            )
        }
        let deed =
            switch until {
            case .ready, .firstFrame, .useful: "send \(until.phrase)"
            case .listen: "listen"
            case .idle: "become idle"
            case .exit: "exit"
            }
        return .program("\(name) did not \(deed) within \(limit); use another --until, or a longer --time-limit")
    }

    /// The error of a program that failed, or exited before the awaited event.
    func failure(_ status: ExitStatus, before awaited: LaunchGoal?, lastLine: String?) -> MeasuringError {
        let end =
            switch status {
            case .exited(let code): "exited with code \(code)"
            case .signaled(let signal, _): "was killed by \(SignalName.of(Int(signal)))"
            case .unknown: "ended"
            }
        let before = awaited.map { ", before \($0.phrase)" } ?? ""
        let line = lastLine.map { ": \($0)" } ?? ""
        let advice = awaited == nil && lastLine == nil ? "; use --show-output to see why, or --ignore-failure" : ""
        return .program("\(name) \(end)\(before)\(line)\(advice)")
    }
}
