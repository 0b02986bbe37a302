// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogRecording
import WatchdogRendering

/// `watchdogd record launch`, which `record` alone means.
struct RecordLaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Record a launch of an unmodified program and show where the time went.",
        usage: "watchdogd record [options] -- PROGRAM [ARGS...]",
        discussion: """
            Shows the phases of the launch, from the request through the dynamic linker and constructors to main and \
            the first sign that the program is up: READY=1 or its first frame, else a listening socket, else its main \
            thread's first wait for events, else its exit. After READY=1 or a first frame it records until USEFUL=1, \
            or until the program has said nothing for 500 ms and no launch task is open; --until ends it at once. Root \
            sees most: what every thread waited for and who woke it. Terminates the program after its launch unless --keep is given. Exits with 0 if the launch completed, \
            with the program's own code if it exited first, and with 75 if the time limit passed.
            """
    )

    @Option(
        help: ArgumentHelp(
            "End of the launch: ready, first-frame, useful, listen, idle or exit (default: the best available).",
            valueName: "sign"),
        completion: .list(LaunchGoal.allCases.map(\.rawValue)), transform: LaunchGoal.init(option:))
    var until: LaunchGoal?

    @Option(
        help: ArgumentHelp("Time to wait for the launch to complete.", valueName: "span"), transform: RunOptions.span
    )
    var timeLimit: Duration = .seconds(60)

    @Option(
        help: ArgumentHelp(
            "Use only this recording method: A (scheduler, root), B (perf events), C (ptrace) or D (clocks).",
            valueName: "rung"),
        completion: .list(Rung.allCases.map(\.rawValue)), transform: Self.rung)
    var rung: Rung?

    @Flag(help: "Time each constructor of the program and its libraries (root; slower).")
    var constructors = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the recording to this file, usually NAME.launch.", valueName: "file"),
        completion: .file(extensions: ["launch"]))
    var output: String?

    @OptionGroup var files: RecordingFileOptions

    @Flag(help: "Print the recording as JSON (docs/launch-schema.json) instead of a table.")
    var json = false

    @Flag(help: "Leave the program running after its launch.")
    var keep = false

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"),
        completion: .file())
    var command: [String] = []

    func validate() throws {
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("a program is missing; write watchdogd record [options] -- PROGRAM [ARGS...]")
        }
        guard output != "" else { throw ValidationError("--output is empty; give it a file or leave it out") }
        if constructors, let rung, rung > .b {
            throw ValidationError("--constructors cannot be recorded on rung \(rung.rawValue); use rung A or B")
        }
        guard timeLimit <= .seconds(86_400) else {
            throw ValidationError("--time-limit is out of range; use at most 1 d")
        }
    }

    func run() throws {
        do {
            // Before the launch: without a file to keep the recording in, there is no point in launching.
            if let output { try AtomicFile.check(output) }
            let executable = try resolveExecutable(command[0], path: Environment.inherited["PATH"] ?? "/usr/bin:/bin")
            try spare(executable)
            try files.check()
            // A process that the program leaves behind stays a descendant, and is ended with the others.
            try Subreaper.become()
            var launch = try LaunchRecorder.record(
                RecordingRequest(
                    executable: executable, command: command, goal: until, timeLimit: timeLimit, rung: rung,
                    timesConstructors: constructors, keepsProgram: keep))
            // The machine's first process may be one that reaps nothing.
            if keep { _ = Subreaper.reapOrphans(except: []) } else { Subreaper.endChildren() }
            LongCall.show("naming the functions") { launch.nameFunctions() }
            let file = try RecordingCoding.encode(launch.recording)
            if let output { try AtomicFile.write(file, to: output) }
            try files.write(launch.recording)
            let style = OutputOptions.standard.launchStyle
            if json {
                StandardOutput.emit(String(decoding: file, as: UTF8.self))
            } else {
                print(launch.recording.text(style), terminator: "")
            }
            throw ExitCode(launch.exitCode)
        } catch let error as ExecutableLookupError {
            let isName = !error.command.contains("/")
            StandardError.say(error.reason == .notFound && isName ? "\(error); is it in PATH?" : "\(error)")
            throw ExitCode(error.sysexit)
        } catch let error as RecordingError {
            StandardError.say("\(error)")
            throw ExitCode(error.exitCode)
        } catch let error as LinuxError {
            StandardError.say("\(error)")
            throw ExitCode(73)
        } catch let error as RecordingCodingError {
            StandardError.say("\(error)")
            throw ExitCode(74)
        }
    }

    /// Refuses to replace the program by what is written about it: `-o app -- ./app` is easily typed.
    private func spare(_ executable: String) throws {
        let program = canonicalPath(executable)
        for file in [output, files.html, files.perfetto].compactMap(\.self) where canonicalPath(file) == program {
            StandardError.say("\(file) is the program itself; write the recording to another file")
            throw ExitCode(64)
        }
    }

    private static func rung(_ text: String) throws -> Rung {
        guard let rung = Rung(rawValue: text.uppercased()) else { throw ValidationError("use A, B, C or D") }
        return rung
    }
}
