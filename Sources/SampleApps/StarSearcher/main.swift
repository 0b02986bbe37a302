// SPDX-License-Identifier: Apache-2.0

// An app that shows a list of stars; its launch is slow for four reasons, each of which an option removes.

import SampleSupport

// An app can measure only the length of the time before its first line; 'watchdogd record' shows what happened in it.
let beforeMain = LaunchRecord.Interval(
    name: "before main", start: .zero, end: ProcessClock.now, running: ProcessClock.threadTime,
    waiting: ProcessClock.threadDelay, isOnMain: true)
let arguments = Arguments(
    app: "StarSearcher",
    help: """
        usage: StarSearcher --slow | --fast | --repair NAME [options]

        Launches an app that shows a list of stars.

        --slow                  with all four mistakes: a logger that is initialized before main, a priority inversion, a load of
                                all rows, detail screens that are made before anybody wants them
        --fast                  without them
        --repair NAME           with the others: \(Repair.allCases.map(\.rawValue).joined(separator: ", ")); may name
                                several, separated by commas
        """, values: ["--repair"], flags: ["--slow", "--fast"])
let repairs = Repair.chosen(by: arguments)
let isFree = repairs.contains(.logger) || arguments.has("--prepare")
let logger = isFree ? Logger.system : .superfast(for: arguments)
let app = SampleApp(arguments)
StarChart.prepare(app)
app.record.add(beforeMain)
app.run(StarSearcher(app, repairs, logger: logger))
