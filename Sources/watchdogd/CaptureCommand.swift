// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogReport
import WatchdogSupervisor

/// `watchdogd capture`.
struct CaptureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Print the stack of every thread of a running process.",
        discussion: """
            The process is not stopped: threads that sleep notice nothing, and threads on a CPU have no stack. With --stop \
            all threads are stopped at one instant, for about a millisecond, and every one has its stack; a system call \
            that was waiting may then end early with EINTR.
            """
    )

    @Flag(help: "Stop all threads for a moment.")
    var stop = false

    @Option(
        help: ArgumentHelp("Write a crash log into this folder, and print its path instead.", valueName: "dir"))
    var reports: String?

    @Flag(help: "Print the .ips file instead of the classic text.")
    var json = false

    @Argument(help: ArgumentHelp("The process's id.", valueName: "pid"))
    var process: Int32

    func validate() throws {
        guard process > 0 else { throw ValidationError("\(process) is no process id; use a number above 0") }
        guard reports != "" else { throw ValidationError("--reports is empty; give it a folder or leave it out") }
        guard !(json && reports != nil) else {
            throw ValidationError("--json and --reports contradict each other: a crash log is an .ips file")
        }
    }

    func run() throws {
        let report: Report
        do {
            report = try ProcessCapture(of: process, stopsThreads: stop).report()
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
        if let reports {
            print(try Failure.reporting { try ReportStore(directory: reports).write(report) })
        } else if json {
            let bytes = try Failure.reporting { try ReportCoding.encode(report) }
            print(String(decoding: bytes, as: UTF8.self), terminator: "")
        } else {
            print(TextRenderer.render(report), terminator: "")
        }
    }
}
