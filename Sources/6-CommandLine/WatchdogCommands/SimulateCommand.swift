// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogRun
import WatchdogSimulation

/// `watchdogd simulate`: replays an app's history under other allowances.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Show what an app's allowances would have done to a recorded history.",
        discussion: """
            Replays the history through watchdogd's policy on virtual time. Prints which kills would be new, which \
            would come later or not at all, how long the app really took, suggested allowances, and the number of kills \
            with shorter and longer ones. A history is a file of 'watchdogd run --trace', of \
            'journalctl -o json' or of 'watchdogd events --json', a crash log or a folder of them, or a launch history.
            """
    )

    @Option(
        name: .customLong("trace"),
        help: ArgumentHelp(
            "The history, a file or folder; may be repeated; - is standard input.", valueName: "file"),
        completion: .file())
    var traces: [String] = []

    @Option(
        help: ArgumentHelp("Change a setting of [Watchdog]: Update=5s; may be repeated.", valueName: "key=value"),
        transform: { text in
            guard let setting = VariedFile.Setting(text) else {
                throw ValidationError("write KEY=VALUE, as in Update=5s")
            }
            return setting
        })
    var set: [VariedFile.Setting] = []

    @Option(help: ArgumentHelp("Multiply the 99.9th percentile by this for suggestions.", valueName: "factor"))
    var margin = 2.0

    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @Argument(help: ArgumentHelp("The app's file, NAME.app.", valueName: "file"), completion: .file())
    var file: String

    func validate() throws {
        guard !traces.isEmpty else { throw ValidationError("a history is missing; add --trace FILE") }
        guard !traces.contains("") else { throw ValidationError("--trace is empty; name a file") }
        guard traces.count(where: { $0 == "-" }) <= 1 else { throw ValidationError("--trace - can be given only once") }
        guard margin.isFinite, margin >= 1, margin <= 100 else {
            throw ValidationError("--margin \(margin) is out of range; use a factor from 1 to 100")
        }
    }

    func run() throws {
        let spec = try app.spec
        do {
            let simulation = try LongCall.show("replaying the history") {
                let read = try traces.map { try TraceSource.read($0, app: spec.name) }
                return try Simulation(read, under: spec, margin: margin)
            }
            guard !output.json else {
                return StandardOutput.emit(ControlText.json(SimulationReply(simulation, margin: margin)))
            }
            let text = SimulationText(columns: output.style.columns ?? ControlText.width, isUnicode: Locale.isUnicode) {
                .current(at: $0.seconds)
            }
            pager.show(text.text(simulation, margin: margin))
        } catch let failure as TraceSource.Failure {
            throw Self.failure(failure.description, failure.exitCode)
        } catch let error as Simulation.LimitError {
            throw Self.failure(error.description, 65)
        }
    }

    private var app: AppConfiguration {
        get throws {
            let listing: ConfigurationListing
            do {
                listing = try VariedFile.load(file, setting: set)
            } catch {
                throw Self.failure("\(error)", 66)
            }
            for diagnostic in listing.apps.flatMap(\.diagnostics) + listing.diagnostics {
                StandardError.say(VariedFile.words(for: diagnostic, in: file))
            }
            guard let app = listing.apps.first?.configuration else { throw Self.failure("\(file) is invalid", 65) }
            return app
        }
    }

    private static func failure(_ sentence: String, _ code: Int32) -> ExitCode {
        StandardError.say(sentence)
        return ExitCode(code)
    }
}
