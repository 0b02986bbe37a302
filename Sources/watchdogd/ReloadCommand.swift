// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl

/// `watchdogd reload`: reloads the daemon's configuration, or that of apps.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon, or apps, read their configuration again.",
        discussion: """
            Without an app, the daemon reads the files of apps. That takes effect as a whole or not at all. Apps whose \
            configuration did not change are not touched; those whose process would be another one are restarted.

            With apps, each of them reads its own configuration: its commands of ExecReload= are run, and if it then says \
            RELOADING=1, its READY=1 is waited for. Each is reloaded; the exit code is that of the first that could not be.
            """
    )

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(inversion: .prefixedNo, help: "Of apps: wait until it is done.")
    var wait = true

    @Argument(help: ArgumentHelp("The names of apps.", valueName: "app"), completion: .appNames)
    var apps: [String] = []

    func validate() throws {
        guard wait || !apps.isEmpty else { throw ValidationError("--no-wait is for apps; name one, or leave it out") }
    }

    func run() throws {
        guard !apps.isEmpty else {
            let reply = try daemon.withClient(output) { client throws(ControlClientError) in try client.reload() }
            print(output.json ? ControlText.json(reply) : ControlText.reload(reply), terminator: "")
            return
        }
        var failure: (any Error)?
        for app in apps {
            do {
                try reload(app)
            } catch {
                // Continue: the other apps can still be reloaded.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func reload(_ app: String) throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.reload(AppRequest(app, waits: wait))
        }
        let text = output.json ? ControlText.jsonLine(Line(app: app, reply)) : ControlText.reload(reply, of: app)
        print(text, terminator: "")
    }

    /// What `--json` prints for each app.
    private struct Line: Encodable {
        let app: String
        let durationUSec: Int64?
        let isConfirmed: Bool

        init(app: String, _ reply: ReloadAppReply) {
            self.app = app
            durationUSec = reply.duration?.count
            isConfirmed = reply.isConfirmed
        }
    }
}
