// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import SampleSupport

extension StarSearcher {
    private static let help = """
        usage: StarSearcher --slow | --fast | --repair NAME [options]

        Launches an app that shows a list of stars.

        --slow                  with all four mistakes: a logger that is initialized before main, a priority inversion, a load of
                                all rows, detail screens that are made before anybody wants them
        --fast                  without them
        --repair NAME           with the others: \(Repair.allCases.map(\.rawValue).joined(separator: ", ")); may name
                                several, separated by commas
        """

    /// Reads the command line, prepares the files, and launches the app.
    ///
    /// - Parameter isLoggerLinked: Whether this program is linked with the logger.
    package static func main(isLoggerLinked: Bool, log: @escaping (String) -> Void) -> Never {
        // An app can measure only the length of the time before its first line; 'watchdogd record' shows what happened
        // in it.
        let beforeMain = LaunchRecord.Interval(
            name: "before main", start: .zero, end: ProcessClock.now, running: ProcessClock.threadTime,
            waiting: ProcessClock.threadDelay, isOnMain: true)
        let arguments = Arguments(
            app: "StarSearcher", help: help, values: ["--repair"], flags: ["--slow", "--fast"])
        let repairs = repairs(arguments)
        if repairs.contains(.logger) == isLoggerLinked { executeOther(isLoggerLinked, arguments) }
        let app = SampleApp(arguments)
        prepare(app)
        app.record.add(beforeMain)
        app.run(StarSearcher(app, repairs, log: log))
    }

    private static func repairs(_ arguments: Arguments) -> Set<Repair> {
        if arguments.has("--fast") { return Set(Repair.allCases) }
        let names = arguments["--repair"]?.split(separator: ",").map(String.init) ?? []
        guard arguments.has("--slow") || arguments.has("--prepare") || !names.isEmpty else {
            arguments.fail("--slow, --fast or --repair is missing")
        }
        return Set(
            names.map { name in
                guard let repair = Repair(rawValue: name) else {
                    let choices = Repair.allCases.map(\.rawValue).joined(separator: ", ")
                    arguments.fail("unknown repair '\(name)'; use one of: \(choices)")
                }
                return repair
            })
    }

    /// An option cannot remove a linked library, so this process executes the other program instead.
    private static func executeOther(_ isLoggerLinked: Bool, _ arguments: Arguments) -> Never {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = own.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
        let other = "\(folder)/\(isLoggerLinked ? "StarSearcher" : "StarSearcherWithLogger")"
        // The logger's constructor reads the scale before main, and therefore before any option.
        setenv("SAMPLE_TIME_SCALE", "\(arguments.timeScale)", 1)
        var words = CommandLine.arguments.map { strdup($0) } + [nil]
        words[0] = strdup(other)
        execv(other, words)
        arguments.giveUp("cannot execute \(other): \(String(cString: strerror(errno)))")
    }

    private static func prepare(_ app: SampleApp) {
        app.prepare { folder, workload in
            let rows = 2000
            let draft = "\(folder)/draft.sqlite"
            try StarChart.write(rows, to: draft)
            workload.calibrate("stars", to: app.scaled(.milliseconds(150))) { count in
                for _ in 0..<count { _ = StarChart.load(draft, limit: nil) }
            }
            try FileManager.default.removeItem(atPath: draft)
            try StarChart.write(rows * workload["stars"], to: "\(folder)/stars.sqlite")
            let each = Duration.milliseconds(900) / Screen.visibleRows
            workload.calibrate("detail", to: app.scaled(each)) { passes in
                let star = Star(name: "", magnitude: 0, ascension: 0, declination: 0)
                _ = StarChart.detail(star, passes: passes)
            }
            workload.calibrate("lettering", to: app.scaled(.milliseconds(28))) { passes in
                _ = StarChart.lettering(passes: passes)
            }
        }
    }
}
