// SPDX-License-Identifier: Apache-2.0

// An app that does everything right: it is ready at once, answers every ping, and exits on request.

import Dispatch
import Glibc
import Watchdog

let help = """
    usage: HealthyApp [--run-for SECONDS]

    Says that it is ready, answers pings and does nothing else, until SIGTERM ends it with exit code 0.

    --run-for SECONDS   end by itself after this time, with exit code 0
    --help              show this help
    """

func fail(_ problem: String) -> Never {
    let line = "HealthyApp: \(problem) (try --help)\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(64)
}

/// Parses `5`, `0.5` and `5s`.
func seconds(_ text: String) -> Double? {
    guard let seconds = Double(text.hasSuffix("s") ? String(text.dropLast()) : text) else { return nil }
    return (0...1e9).contains(seconds) ? seconds : nil
}

func quit() -> Never {
    Watchdog.stopping()
    exit(0)
}

var arguments = CommandLine.arguments.dropFirst()
var runFor: Double?
while let argument = arguments.popFirst() {
    switch argument {
    case "--help":
        print(help)
        exit(0)
    case "--run-for":
        guard let value = arguments.popFirst().flatMap(seconds) else { fail("--run-for needs a number of seconds") }
        runFor = value
    default:
        fail("unknown argument '\(argument)'")
    }
}

Watchdog.onTerminate { quit() }
Watchdog.start()
Watchdog.ready()
print("HealthyApp: ready")
fflush(nil)

if let runFor {
    DispatchQueue.main.asyncAfter(deadline: .now() + runFor) { quit() }
}
Watchdog.run()
