// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogRun

/// `watchdogd top`.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the daemon's apps and what they use, live.",
        discussion: """
            Keys: n c m p i sort by name, CPU, memory, ping or last incident; / filters; arrow keys and j k select; \
            Enter opens the last crash log; q quits. PING99 is the 99th percentile of the pings answered since the \
            last reading, TREND the last eight of them. Without a terminal, prints one table after one interval.
            """
    )

    @Option(help: ArgumentHelp("Time between readings (default: 1s).", valueName: "span"), transform: RunOptions.span)
    var interval: Duration = .seconds(1)

    @Option(help: ArgumentHelp("Print this many tables and exit, without keys.", valueName: "count"))
    var count: Int?

    @OptionGroup var daemon: ControlOptions

    func validate() throws {
        guard (.milliseconds(100)...(.seconds(3_600))).contains(interval) else {
            throw ValidationError("--interval is out of range; use 100 ms to 1 h")
        }
        if let count, !(1...1_000_000).contains(count) {
            throw ValidationError("--count \(count) is out of range; use 1 to 1000000")
        }
    }

    func run() throws {
        try daemon.choice.withClient { client throws(ControlClientError) in
            let reader = TopReader(client)
            var screen = TopScreen()
            screen.update(try reader.read())
            guard count == nil, let terminal = TopTerminal() else { return try print(&screen, reader) }
            defer { terminal.restore() }
            // No key is heard meanwhile.
            client.patience = .seconds(10)
            try show(&screen, reader, on: terminal)
        }
    }

    private func show(
        _ screen: inout TopScreen, _ reader: TopReader, on terminal: TopTerminal
    ) throws(ControlClientError) {
        var next = Instant.now() + interval
        while true {
            terminal.draw(&screen)
            for key in terminal.keys(until: next) {
                switch screen.press(key) {
                case .quit: return
                case .open(let report): terminal.open(report)
                case nil: break
                }
            }
            guard !terminal.isGone else { return }
            if Instant.now() >= next {
                screen.update(try reader.read())
                next = .now() + interval
            }
        }
    }

    /// Prints tables, for pipes and scripts.
    private func print(_ screen: inout TopScreen, _ reader: TopReader) throws(ControlClientError) {
        for _ in 0..<(count ?? 1) {
            var time = timespec()
            time.tv_sec = Int(interval.nanoseconds / 1_000_000_000)
            time.tv_nsec = Int(interval.nanoseconds % 1_000_000_000)
            nanosleep(&time, nil)
            screen.update(try reader.read())
            // Only now: it has the clock.
            let style = OutputOptions.standard
            let lines = screen.lines(
                columns: style.columns ?? .max, rows: nil, style: style, isUnicode: Locale.isUnicode)
            Swift.print(lines.joined(separator: "\n"))
            fflush(nil)
        }
    }
}
