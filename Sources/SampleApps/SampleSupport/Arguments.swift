// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// The command line of a sample app: `--name value` and `--name`.
package struct Arguments: Sendable {
    package let app: String
    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    /// The options of every sample app.
    private static let commonValues: Set<String> = [
        "--data", "--server", "--time-scale", "--frames", "--script", "--touch-every", "--record", "--quit-when",
    ]
    private static let commonFlags: Set<String> = ["--prepare"]

    private static let commonHelp = """
        --server ADDR        the PhotoServer to ask (default: 127.0.0.1:8225)
        --data DIR           where its files lie (default: below ~/.cache/watchdogd-samples)
        --prepare            only write these files; without it they are written when they are missing
        --time-scale X       multiplies the work and the waits, 0.01 to 10 (default: $SAMPLE_TIME_SCALE or 1)
        --frames DIR         write every frame as text and as PNG
        --script FILE        touches: lines such as '250ms select 2', '1s back', '2s quit'
        --touch-every SPAN   a finger that touches the screen at this rate
        --record FILE        write what was measured, as NAME=VALUE lines
        --quit-when WHEN     end by itself when useful or complete
        --help               show this help
        """

    /// Reads the command line of this process; exits with 64 (EX_USAGE) on an error, and with 0 for `--help`.
    package init(app: String, help: String, values: Set<String> = [], flags: Set<String> = []) {
        self.app = app
        var rest = CommandLine.arguments.dropFirst()
        while let argument = rest.popFirst() {
            if argument == "--help" {
                print("\(help)\n\n\(Self.commonHelp)")
                exit(0)
            } else if flags.union(Self.commonFlags).contains(argument) {
                self.flags.insert(argument)
            } else if values.union(Self.commonValues).contains(argument) {
                guard let value = rest.popFirst(), !value.isEmpty else { fail("\(argument) needs a value") }
                self.values[argument] = value
            } else {
                fail("unknown argument '\(argument)'")
            }
        }
    }

    package subscript(name: String) -> String? { values[name] }

    package func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// Exits because of an invalid command line: EX_USAGE.
    package func fail(_ problem: String) -> Never {
        say("\(problem) (try --help)")
        exit(64)
    }

    /// Exits because a resource is not available: EX_OSERR.
    package func giveUp(_ problem: String) -> Never {
        say(problem)
        exit(71)
    }

    private func say(_ text: String) {
        let line = "\(app): \(text)\n"
        write(STDERR_FILENO, line, line.utf8.count)
    }

    // MARK: - Kinds of values

    /// The index of the chosen name, given by name or by number from 1.
    package func choice(_ option: String, _ names: [String]) -> Int? {
        guard let text = values[option] else { return nil }
        if let number = Int(text), names.indices.contains(number - 1) { return number - 1 }
        if let index = names.firstIndex(of: text.lowercased()) { return index }
        let choices = names.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: ", ")
        fail("unknown \(option.drop { $0 == "-" }) '\(text)'; use one of: \(choices)")
    }

    package func span(_ option: String) -> Duration? {
        guard let text = values[option] else { return nil }
        do {
            return try TimeSpan.parse(text)
        } catch {
            fail("\(option): \(error)")
        }
    }

    /// The factor of all work and delays.
    package var timeScale: Double {
        guard let text = values["--time-scale"] ?? environment("SAMPLE_TIME_SCALE") else { return 1 }
        guard let scale = Double(text), (0.01...10).contains(scale) else {
            fail("a time scale is a number from 0.01 to 10, not '\(text)'")
        }
        return scale
    }

    /// The folder of the app's files.
    package var dataFolder: String {
        if let folder = values["--data"] { return folder }
        let cache = environment("XDG_CACHE_HOME") ?? "\(environment("HOME") ?? "/tmp")/.cache"
        return "\(cache)/watchdogd-samples/\(app)-\(timeScale)"
    }

    private func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
