// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import WatchdogSupervisor

extension ProcessSampling.Format: ExpressibleByArgument {}

/// `watchdogd sample`.
struct SampleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample",
        abstract: "Look at a running process for a while, and print where its threads spend their time.",
        discussion: """
            Threads that sleep are not stopped and notice nothing. Where a thread on a CPU is, only a stop of some tens of \
            microseconds tells; with --no-stop it is counted without a stack. Ctrl-C ends the looking early.
            """
    )

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long to look.", valueName: "span"), transform: RunOptions.span
    )
    var duration: Duration = .seconds(3)

    @Option(help: ArgumentHelp("From one look to the next.", valueName: "span"), transform: RunOptions.span)
    var interval: Duration = .milliseconds(10)

    @Option(help: ArgumentHelp("text, collapsed (flame graphs), speedscope or json.", valueName: "format"))
    var format = ProcessSampling.Format.text

    @Flag(help: "Stop no thread, not even for a moment.")
    var noStop = false

    @Argument(help: ArgumentHelp("The process's id.", valueName: "pid"))
    var process: Int32

    func validate() throws {
        guard process > 0 else { throw ValidationError("\(process) is no process id; use a number above 0") }
        guard duration <= .seconds(600) else { throw ValidationError("--for is out of range; use at most 10min") }
        guard duration >= interval else { throw ValidationError("--interval is longer than --for; use a shorter one") }
    }

    func run() throws {
        do {
            let sampling = ProcessSampling(
                of: process, duration: duration, interval: interval, stopsRunning: !noStop)
            print(try sampling.text(as: format), terminator: "")
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }
}
