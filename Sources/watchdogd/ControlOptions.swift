// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl
import WatchdogLinux
import WatchdogSupervisor

/// Which daemon a command talks to, and how it answers.
struct ControlOptions: ParsableArguments {
    @Flag(help: "Talk to the daemon of the machine; what root does unless told otherwise.")
    var system = false

    @Flag(help: "Talk to this user's daemon; what everybody but root does if there is one.")
    var user = false

    @Option(help: ArgumentHelp("Talk to the daemon at this socket.", valueName: "path"), completion: .file())
    var control: String?

    func validate() throws {
        guard [system, user, control != nil].count(where: \.self) <= 1 else {
            throw ValidationError("--system, --user and --control contradict each other; use one of them")
        }
        guard control != "" else { throw ValidationError("--control is empty; give it a value or leave it out") }
    }

    /// Connects, carries the body out, and tells an error in one line with an exit code of sysexits.h; programs are told
    /// it as an object on the output besides.
    func withClient<Value>(
        _ output: OutputOptions, _ body: (ControlClient) throws(ControlClientError) -> Value
    ) throws -> Value {
        do throws(ControlClientError) {
            return try body(ControlClient(try place))
        } catch {
            if output.json { print(ControlText.json(error), terminator: "") }
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    private var place: ControlPath {
        get throws(ControlClientError) {
            if let control { return ControlPath(control) }
            if system { return .system }
            let own = ControlPath.user()
            if user {
                guard let own else { throw .noUserPath }
                return own
            }
            guard let own, geteuid() != 0, access(own.path, F_OK) == 0 else { return .system }
            return own
        }
    }
}

/// Whether a command answers people or programs.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    /// Refuses a number of lines that would silently be given as fewer.
    static func check(lines: Int, most: Int, instead: String = "") throws {
        guard (0...most).contains(lines) else {
            throw ValidationError("--lines \(lines) is out of range; use a number from 0 to \(most)\(instead)")
        }
    }

    /// How text is written here: on a terminal in color, unless `NO_COLOR` is set (no-color.org), and in its width.
    var style: ControlText.Style {
        guard isatty(STDOUT_FILENO) == 1 else { return ControlText.Style(columns: nil) }
        var size = winsize()
        let columns = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 ? Int(size.ws_col) - 1 : 0
        return ControlText.Style(
            isColored: (Environment.inherited["NO_COLOR"] ?? "").isEmpty, columns: max(ControlText.width, columns))
    }
}

extension ControlClientError {
    /// One of sysexits.h: EX_UNAVAILABLE, EX_NOPERM, EX_TEMPFAIL, EX_PROTOCOL, EX_DATAERR, EX_NOINPUT, EX_SOFTWARE.
    fileprivate var exitCode: Int32 {
        switch code {
        case .notRunning, .disconnected: 69
        case .notAllowedToConnect: 77
        case .timedOut: 75
        case .notUnderstood: 76
        case .failed: 74
        case .refused(let error):
            switch error {
            case .noSuchApp: 66
            case .notPermitted: 77
            case .invalidConfiguration: 65
            case .alreadyRunning, .notRunning, .unkillable, .launchFailed, .captureFailed, .reloadFailed, .refused: 1
            case .shuttingDown, .tooManyConnections: 75
            case .malformedMessage, .methodNotFound, .interfaceNotFound, .invalidParameter, .expectedMore, .other: 76
            case .failed: 70
            }
        }
    }
}
