// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl
import WatchdogLaunch

/// `watchdogd reload`: reloads the daemon's configuration, or that of apps.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the configuration of the daemon or of apps.",
        discussion: """
            Without an app, the daemon reads all app files again; either every change takes effect or none does. Apps \
            whose configuration did not change keep running; apps whose process settings changed are restarted.

            With apps, each one reloads its own configuration: watchdogd runs its ExecReload= commands and, if the app \
            then sends RELOADING=1, waits for READY=1. All of them are tried; the exit code is that of the first \
            failure.
            """
    )

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Show what would change, setting by setting, and which apps would be restarted; change nothing.")
    var dryRun = false

    @Flag(inversion: .prefixedNo, help: "For apps: wait until the reload is done.")
    var wait = true

    @Argument(help: .apps("Names of apps"), completion: .appNames)
    var apps: [String] = []

    func validate() throws {
        guard wait || !apps.isEmpty else {
            throw ValidationError("--no-wait applies only to apps; name one or leave it out")
        }
        guard !dryRun || apps.isEmpty else {
            throw ValidationError("--dry-run applies only to the daemon's configuration; leave out the apps")
        }
    }

    func run() throws {
        guard !apps.isEmpty else {
            let reply = try daemon.withClient(output) { client throws(ControlClientError) in
                try client.reload(ReloadRequest(isDryRun: dryRun ? true : nil))
            }
            let text =
                dryRun
                ? ControlText.dryRun(reply, style: output.style) : ControlText.reload(reply, style: output.style)
            if output.json {
                StandardOutput.emit(ControlText.json(reply))
            } else {
                print(text, terminator: "")
            }
            return
        }
        try AppNames.each(AppNames(apps).matches(daemon, output), reload)
    }

    private func reload(_ app: String) throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.reload(AppRequest(app, waits: wait))
        }
        let text =
            output.json
            ? ControlText.jsonLine(Line(app: app, reply)) : ControlText.reload(reply, of: app, style: output.style)
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
