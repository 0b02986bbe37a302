// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl
import WatchdogLaunch

/// `watchdogd foreground`.
struct ForegroundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "foreground",
        abstract: "Move apps to the foreground.",
        discussion: "Resumes the app first if it is suspended. Exits with 0 once the app is in the foreground."
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform { client, request throws(ControlClientError) in try client.foreground(request) }
    }
}

/// `watchdogd background`.
struct BackgroundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "background",
        abstract: "Move apps to the background.",
        discussion: "An app that takes part in the lifecycle is suspended once its background tasks have ended."
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform { client, request throws(ControlClientError) in try client.background(request) }
    }
}

/// `watchdogd suspend`.
struct SuspendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Suspend apps after giving them time to clean up.",
        discussion:
            "The app moves to the background, ends its tasks and is frozen. No deadline runs until it is resumed."
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform { client, request throws(ControlClientError) in try client.suspend(request) }
    }
}

/// `watchdogd resume`.
struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume suspended apps.",
        discussion: "An app that takes part in the lifecycle resumes in the background."
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform { client, request throws(ControlClientError) in try client.resume(request) }
    }
}

/// `watchdogd event`.
struct EventCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "event",
        abstract: "Send an app, or each that matches a pattern, an event to handle on its main loop.",
        discussion: """
            Exits with 0 once the app has handled it, and with 1 if nothing in the app listens for it. The app learns which app \
            has asked, if one did.
            """
    )

    @OptionGroup var action: OneAppOptions

    @Flag(help: "Launch the app if it is not running.")
    var launch = false

    @Argument(help: ArgumentHelp("The kind of event, such as url.", valueName: "kind"))
    var kind: String

    @Argument(help: ArgumentHelp("Data to pass with the event.", valueName: "payload"))
    var payload: String?

    func validate() throws {
        guard (1...EventRequest.limits.kind).contains(kind.utf8.count) else {
            throw ValidationError("the kind has \(kind.utf8.count) bytes; use 1 to \(EventRequest.limits.kind)")
        }
    }

    func run() throws {
        try AppNames.each(AppNames([action.name]).matches(action.daemon, action.output), send)
    }

    private func send(to app: String) throws {
        let request = EventRequest(app, kind: kind, payload: payload, waits: action.wait, launches: launch)
        let reply = try action.daemon.withClient(action.output) { client throws(ControlClientError) in
            try client.sendEvent(request)
        }
        if action.output.json { StandardOutput.emit(ControlText.json(reply)) }
    }
}
