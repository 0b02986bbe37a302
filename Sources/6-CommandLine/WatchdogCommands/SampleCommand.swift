// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogControl
public import WatchdogLaunch

extension ProcessSampling.Format: ExpressibleByArgument {}

/// `watchdogd sample`.
struct SampleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample",
        abstract: "Sample a running app or process and show where its threads spend their time.",
        discussion: """
            Does not stop sleeping threads. Stops a thread on a CPU for tens of microseconds to read its stack; \
            with --no-stop, such a thread is counted without a stack. Ctrl-C stops sampling early.
            """
    )

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long to sample.", valueName: "span"),
        transform: RunOptions.span
    )
    var duration: Duration = .seconds(3)

    @Option(help: ArgumentHelp("Time between samples.", valueName: "span"), transform: RunOptions.span)
    var interval: Duration = .milliseconds(10)

    @Option(
        help: ArgumentHelp("Output format: text, collapsed (flame graphs), speedscope or json.", valueName: "format"))
    var format = ProcessSampling.Format.text

    @Flag(help: "Never stop a thread.")
    var noStop = false

    @OptionGroup var daemon: ControlOptions

    @Argument(
        help: ArgumentHelp("The app's name, a process ID, or a container's name or ID.", valueName: "app"),
        completion: .appNames)
    var name: String

    func validate() throws {
        if let process = Int32(name), process <= 0 {
            throw ValidationError("\(process) is not a process ID; use a number above 0")
        }
        guard duration <= .seconds(600) else { throw ValidationError("--for is out of range; use at most 10 min") }
        guard duration >= interval else { throw ValidationError("--interval is longer than --for; use a shorter one") }
    }

    func run() throws {
        let process = try NamedProcess.explicit(name) ?? mainProcess
        let line = ProgressLine()
        defer { line.clear() }
        do {
            let sampling = ProcessSampling(
                of: process, duration: duration, interval: interval, stopsRunning: !noStop)
            let text = try sampling.text(as: format) { stage in
                switch stage {
                case .sampling(let fraction):
                    line.show("sampling process \(process) for \(duration.brief); ^C stops early", fraction)
                case .symbolicating: line.show("naming the frames")
                }
            }
            line.clear()
            print(text, terminator: "")
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// The main process of the app or container.
    private var mainProcess: Int32 {
        get throws {
            let app: AppSummary
            do throws(ControlClientError) {
                app = try daemon.choice.attempt { client throws(ControlClientError) in
                    try client.describe(DescribeRequest(name)).app
                }
            } catch {
                return try NamedProcess.container(named: name, after: error, of: daemon.choice)
            }
            guard let pid = app.pid else {
                StandardError.say("\(name) is not running, so there is nothing to sample")
                throw ExitCode(66)
            }
            return pid
        }
    }
}
