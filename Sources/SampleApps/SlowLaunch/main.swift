// SPDX-License-Identifier: Apache-2.0

// An app that launches slowly: its main thread does work that belongs on another thread, after the launch.

import Glibc
import Watchdog

let help = """
    usage: SlowLaunch --seconds N

    Says hello to the supervisor, migrates a database on the main thread for N seconds, and is ready only then.

    --seconds N   how long that takes, such as 0.5 or 30
    --help        show this help
    """

func fail(_ problem: String) -> Never {
    let line = "SlowLaunch: \(problem) (try --help)\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(64)
}

var arguments = CommandLine.arguments.dropFirst()
var launchTime: Double?
while let argument = arguments.popFirst() {
    switch argument {
    case "--help":
        print(help)
        exit(0)
    case "--seconds":
        guard let value = arguments.popFirst().flatMap(Double.init), (0...1e9).contains(value) else {
            fail("--seconds needs a number of seconds")
        }
        launchTime = value
    default:
        fail("unknown argument '\(argument)'")
    }
}
guard let launchTime else { fail("--seconds is missing") }

Watchdog.start()
print("SlowLaunch: launching")
fflush(nil)

let rows = finishLaunching(within: launchTime)

Watchdog.ready()
print("SlowLaunch: ready, \(rows) rows")
fflush(nil)
Watchdog.run()
