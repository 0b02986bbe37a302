// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl

/// `watchdogd foreground`.
struct ForegroundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "foreground",
        abstract: "Ask an app to go to the foreground.",
        discussion: "A suspended app is resumed for it. Ends with 0 when the app is there."
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
        abstract: "Ask an app to go to the background.",
        discussion: "An app that takes part in the lifecycle is suspended there when it has no task left."
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
        abstract: "Freeze an app, after a chance to tidy up.",
        discussion: "It goes to the background, ends its tasks, and is frozen; no deadline counts until it is resumed."
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
        abstract: "Let a suspended app run on.",
        discussion: "In the background, if it takes part in the lifecycle."
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
        abstract: "Send an app an event to handle on its main loop.",
        discussion: "Ends with 0 when the app has handled it."
    )

    @OptionGroup var action: ActionOptions

    @Flag(help: "Launch the app for the event if it is not running.")
    var launch = false

    @Argument(help: ArgumentHelp("What has happened, such as url.", valueName: "kind"))
    var kind: String

    @Argument(help: ArgumentHelp("More about it.", valueName: "payload"))
    var payload: String?

    func validate() throws {
        guard (1...EventRequest.limits.kind).contains(kind.utf8.count) else {
            throw ValidationError("the kind has \(kind.utf8.count) bytes; use 1 to \(EventRequest.limits.kind)")
        }
    }

    func run() throws {
        try action.perform { client, request throws(ControlClientError) in
            try client.sendEvent(
                EventRequest(request.name, kind: kind, payload: payload, waits: request.waits, launches: launch))
        }
    }
}
