// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import WatchdogSupervisor

extension ProcessSampling.Format: ExpressibleByArgument {}

/// `watchdogd sample`.
struct SampleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample",
        abstract: "Sample a running process and show where its threads spend their time.",
        discussion: """
            Does not stop sleeping threads. Stops a thread on a CPU for some tens of microseconds to read its stack; \
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

    @Argument(help: ArgumentHelp("The process ID.", valueName: "pid"))
    var process: Int32

    func validate() throws {
        guard process > 0 else { throw ValidationError("\(process) is not a process ID; use a number above 0") }
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
