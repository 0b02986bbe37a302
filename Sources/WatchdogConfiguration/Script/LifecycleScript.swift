// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What a person would do with an app and expect of it, one command per line.
public struct LifecycleScript: Hashable, Sendable {
    /// What a script waits for, or expects.
    public enum Condition: Hashable, Sendable, CustomStringConvertible {
        /// The launch is over.
        case ready
        /// The app is in this state.
        case state(LifecycleState)
        /// The process lives.
        case alive
        /// The app was killed: under this code, for this event; nil for any.
        case killed(TerminationCode?, WatchdogEvent?)
        /// An incident was reported, killed for or not: under this code; nil for any.
        case reported(TerminationCode?)
        /// The process ended by itself or on request; with this code, nil for any.
        case exited(Int32?)

        /// The condition as it is written.
        public var description: String {
            switch self {
            case .ready: "ready"
            case .state(let state): state.rawValue
            case .alive: "alive"
            case .killed(let code, let event):
                "killed" + (code.map { " \($0.hexadecimal)" } ?? "") + (event.map { ":\($0.rawValue)" } ?? "")
            case .reported(let code): "reported" + (code.map { " \($0.hexadecimal)" } ?? "")
            case .exited(let code): "exited" + (code.map { " \($0)" } ?? "")
            }
        }
    }

    /// One command.
    public enum Command: Hashable, Sendable {
        /// Start the app, in the background if so.
        case launch(inBackground: Bool)
        /// Go on when this is so; fail when it is not in time.
        case wait(Condition, within: Duration)
        /// Ask something of the app.
        case request(LifecycleRequest)
        /// Ask the app to end.
        case terminate
        /// Let time pass.
        case pass(Duration)
        /// Fail unless this is so now.
        case expect(Condition)
    }

    /// A command in its place.
    public struct Step: Hashable, Sendable {
        /// Its line, counted from 1.
        public let line: Int
        /// The command.
        public let command: Command
        /// The line as it is written, without blanks around it and without control characters.
        public let text: String
    }

    /// The most bytes that a script may have.
    public static let maximumLength = 256 << 10
    /// How long `wait` and those expectations wait that need the app's end.
    public static let patience: Duration = .seconds(60)

    /// The script's path, as messages are to name it.
    public let path: String
    /// The commands in order; the first one launches.
    public let steps: [Step]

    /// Whether the app is launched into the background.
    public var launchesInBackground: Bool { steps.first?.command == .launch(inBackground: true) }

    /// What was found wrong with a script.
    public struct Failure: Error, Sendable {
        /// Every error with its place, in order.
        public let diagnostics: [ConfigurationDiagnostic]
    }

    /// Reads a script; nothing of it is carried out unless all of it is right.
    ///
    /// - Throws: ``Failure`` with every error.
    public init(parsing file: ConfigurationFile) throws(Failure) {
        var reader = ScriptReader(file)
        let steps = reader.steps()
        guard !reader.diagnostics.hasErrors else { throw Failure(diagnostics: reader.diagnostics.diagnostics) }
        path = file.path
        self.steps = steps
    }
}
