// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What a user would do with an app and expect of it, one command per line.
public struct LifecycleScript: Hashable, Sendable {
    /// What a script waits for, or expects.
    public enum Condition: Hashable, Sendable, CustomStringConvertible {
        /// The launch is complete.
        case ready
        /// The app is in this state.
        case state(LifecycleState)
        /// The process is alive.
        case alive
        /// The app was killed, with this code and for this event; nil for any.
        case killed(TerminationCode?, WatchdogEvent?)
        /// An incident was reported, whether or not it led to a kill, with this code; nil for any.
        case reported(TerminationCode?)
        /// The process exited by itself or on request, with this code; nil for any.
        case exited(Int32?)

        /// The condition as it is written in a script.
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
        /// Launch the app, perhaps into the background, and perhaps for an event.
        case launch(inBackground: Bool, for: LaunchingEvent? = nil)
        /// Continue when the condition holds; fail if it does not in time.
        case wait(Condition, within: Duration)
        /// Send a request to the app.
        case request(LifecycleRequest)
        /// Inject a fault, which begins at once.
        case inject(Fault)
        /// Ask the app to end.
        case terminate
        /// Sleep.
        case pass(Duration)
        /// Fail unless the condition holds now.
        case expect(Condition)
    }

    /// A command and its place.
    public struct Step: Hashable, Sendable {
        /// Its line, counted from 1.
        public let line: Int
        /// The command.
        public let command: Command
        /// The line as it is written, without surrounding blanks and control characters.
        public let text: String
    }

    /// The maximum length of a script, in bytes.
    public static let maximumLength = 256 << 10
    /// How long `wait`, and expectations that need the app's end, wait.
    public static let patience: Duration = .seconds(60)

    /// The script's path for messages.
    public let path: String
    /// The commands in order; the first one launches.
    public let steps: [Step]

    /// Whether the app is launched into the background.
    public var launchesInBackground: Bool {
        if case .launch(inBackground: true, _) = steps.first?.command { true } else { false }
    }

    /// The event that the app is launched to handle; nil if it is launched for no event.
    public var launchingEvent: LaunchingEvent? {
        if case .launch(_, let event) = steps.first?.command { event } else { nil }
    }

    /// The faults that the script injects, in order.
    public var faults: [Fault] {
        steps.compactMap { if case .inject(let fault) = $0.command { fault } else { nil } }
    }

    /// The errors in a script.
    public struct Failure: Error, Sendable {
        /// Every error with its place, in order.
        public let diagnostics: [ConfigurationDiagnostic]
    }

    /// Parses a script; nothing is executed unless all of it is valid.
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
