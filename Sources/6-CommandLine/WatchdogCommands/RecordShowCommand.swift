// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogRecording
import WatchdogRendering

/// Writes a recording in other forms, beside what is printed.
struct RecordingFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Write a zoomable timeline as a single HTML page.", valueName: "file"),
        completion: .file(extensions: ["html"]))
    var html: String?

    @Option(
        help: ArgumentHelp("Write a trace for https://ui.perfetto.dev.", valueName: "file"),
        completion: .file(extensions: ["perfetto-trace"]))
    var perfetto: String?

    func validate() throws {
        for (name, path) in [("--html", html), ("--perfetto", perfetto)] where path == "" {
            throw ValidationError("\(name) is empty; give it a file or leave it out")
        }
    }

    /// Checks in advance whether the files can be written, so that no launch is recorded for nothing.
    func check() throws {
        try Self.reporting {
            for path in [html, perfetto] { if let path { try AtomicFile.check(path) } }
        }
    }

    /// Writes the files that the options name.
    func write(_ recording: LaunchRecording) throws {
        try Self.reporting {
            if let html { try AtomicFile.write(Array(LaunchPage.render(recording).utf8), to: html) }
            if let perfetto { try AtomicFile.write(PerfettoTrace.encode(recording), to: perfetto) }
        }
    }

    private static func reporting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as LinuxError {
            StandardError.say("\(error)")
            // EX_CANTCREAT
            throw ExitCode(73)
        }
    }
}

/// `watchdogd record show`.
struct RecordShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a recorded launch: where the time went, what each thread did, and how to improve it.",
        discussion: """
            Reads a file that 'watchdogd record --output FILE' wrote, on any machine. How to read a recording: \
            docs/launches.md.
            """
    )

    @OptionGroup var files: RecordingFileOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("A recording.", valueName: "file"), completion: .file(extensions: ["launch"]))
    var path: String

    func validate() throws {
        guard !path.isEmpty else { throw ValidationError("the path is empty; name a recording (FILE.launch)") }
    }

    func run() throws {
        let bytes = try contents()
        let line = ProgressLine()
        // Smaller ones are shown before anybody could read that.
        if bytes.count > 4 << 20 { line.show("reading \(path)") }
        let recording: LaunchRecording
        let text: String
        do throws(RecordingCodingError) {
            recording = try RecordingCoding.decode(bytes)
            text =
                output.json
                ? String(decoding: try RecordingCoding.encode(recording), as: UTF8.self)
                : recording.text(output.style.launchStyle)
        } catch {
            line.clear()
            StandardError.say("\(path): \(error)".singleLine(limit: 4_096))
            // EX_DATAERR
            throw ExitCode(65)
        }
        line.clear()
        try files.write(recording)
        print(text, terminator: "")
    }

    private func contents() throws -> [UInt8] {
        do throws(ConfigurationReadError) {
            return try HostFileSystem().contents(of: path, limit: RecordingCoding.fileBytes + 1)
        } catch {
            StandardError.say(error.description)
            // EX_NOINPUT
            throw ExitCode(66)
        }
    }
}

extension ControlText.Style {
    /// How recordings are printed: as other commands print, and for programs as on a terminal of 80 columns.
    var launchStyle: LaunchTextStyle { LaunchTextStyle(columns: columns ?? 79, isColored: isColored) }
}
