// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux

/// Selects the daemon that a command talks to.
struct ControlOptions: ParsableArguments {
    @Flag(help: "Talk to the system daemon; the default for root.")
    var system = false

    @Flag(help: "Talk to this user's daemon; the default for other users if it is running.")
    var user = false

    @Option(help: ArgumentHelp("Talk to the daemon on this socket.", valueName: "path"), completion: .file())
    var control: String?

    func validate() throws {
        guard [system, user, control != nil].count(where: \.self) <= 1 else {
            throw ValidationError("--system, --user and --control cannot be combined")
        }
        guard control != "" else { throw ValidationError("--control is empty; give it a value or leave it out") }
    }

    /// Connects, calls the body, and prints an error in one line; with `--json` also as an object.
    func withClient<Value>(
        _ output: OutputOptions, _ body: (ControlClient) throws(ControlClientError) -> Value
    ) throws -> Value {
        try choice.withClient(printsJSON: output.json, body)
    }

    var choice: DaemonChoice {
        if let control { return .at(control) }
        if system { return .system }
        if user { return .user }
        return .unselected
    }
}

/// The daemon that a command talks to.
enum DaemonChoice {
    /// How long a command waits for the daemon: one that gets no CPU for ten seconds answers all the same.
    private static let usualPatience = Duration.seconds(60)

    case usual
    case system
    case user
    case at(String)

    /// The daemon if no option selects one: `WATCHDOGD_CONTROL` may name its socket.
    static var unselected: DaemonChoice {
        guard let path = getenv("WATCHDOGD_CONTROL").map({ String(cString: $0) }), !path.isEmpty else { return .usual }
        return .at(path)
    }

    /// Connects, calls the body, and prints an error in one line; then throws its sysexits.h exit code.
    ///
    /// - Parameters:
    ///   - printsJSON: whether to print the error as an object too.
    ///   - patience: the time limit for connecting, and for each reply.
    func withClient<Value>(
        printsJSON: Bool = false, within patience: Duration = usualPatience,
        _ body: (ControlClient) throws(ControlClientError) -> Value
    ) throws -> Value {
        do throws(ControlClientError) {
            return try attempt(within: patience, body)
        } catch {
            throw report(error, printsJSON: printsJSON)
        }
    }

    /// Connects and calls the body; prints nothing.
    func attempt<Value>(
        within patience: Duration = usualPatience, _ body: (ControlClient) throws(ControlClientError) -> Value
    ) throws(ControlClientError) -> Value {
        try body(ControlClient(try place, patience: patience))
    }

    /// Prints an error; returns its sysexits.h exit code.
    ///
    /// - Parameter more: what else is known, as in "; no container named web runs here".
    func report(_ error: ControlClientError, adding more: String = "", printsJSON: Bool) -> ExitCode {
        if printsJSON { StandardOutput.emit(ControlText.json(error)) }
        StandardError.say(error.description + hint(for: error) + more)
        return ExitCode(error.exitCode)
    }

    /// Names the other daemon if only that one runs.
    private func hint(for error: ControlClientError) -> String {
        let isSystem = (try? place) == .system
        guard error.code == .notRunning, let other = isSystem ? ControlPath.user() : .system,
            access(other.path, F_OK) == 0
        else { return "" }
        return isSystem
            ? ", or use --user for the daemon of this user" : ", or use --system for the daemon of the machine"
    }

    private var place: ControlPath {
        get throws(ControlClientError) {
            switch self {
            case .at(let path): return ControlPath(path)
            case .system: return .system
            case .user:
                guard let own = ControlPath.user() else { throw .noUserPath }
                return own
            case .usual:
                guard geteuid() != 0, let own = ControlPath.user(), access(own.path, F_OK) == 0 else { return .system }
                return own
            }
        }
    }
}

/// Selects the output format.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var colors: ColorOption

    /// Rejects a number of lines that the daemon would silently reduce.
    static func check(lines: Int, most: Int, instead: String = "") throws {
        guard (0...most).contains(lines) else {
            throw ValidationError("--lines \(lines) is out of range; use a number from 0 to \(most)\(instead)")
        }
    }

    /// The style of printed text: on a terminal, as wide as the terminal.
    var style: ControlText.Style { Self.style(colors.style) }

    /// The same for commands without these options.
    static var standard: ControlText.Style { style(ColorOption.Choice.leading.style) }

    /// Text for people in a style.
    static func style(_ style: TextStyle) -> ControlText.Style {
        ControlText.Style(
            isColored: style.isColored, columns: style.columns.map { max(ControlText.width, $0) })
    }
}

extension ControlClientError {
    /// A code from sysexits.h: EX_UNAVAILABLE, EX_NOPERM, EX_TEMPFAIL, EX_PROTOCOL, EX_DATAERR, EX_NOINPUT,
    /// EX_SOFTWARE.
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
            case .alreadyRunning, .notRunning, .unkillable, .launchFailed, .captureFailed, .reloadFailed, .refused,
                .eventLost:
                1
            case .shuttingDown, .tooManyConnections: 75
            case .malformedMessage, .methodNotFound, .interfaceNotFound, .invalidParameter, .expectedMore, .other: 76
            case .failed: 70
            }
        }
    }
}
