// SPDX-License-Identifier: Apache-2.0

// An app that works well but ignores requests to exit.

import Glibc
import Watchdog

let help = """
    usage: IgnoresTerm

    Says that it is ready and answers pings, but ignores SIGTERM and the supervisor's request to end.

    --help   show this help
    """

if let argument = CommandLine.arguments.dropFirst().first {
    guard argument == "--help" else {
        let line = "IgnoresTerm: unknown argument '\(argument)' (try --help)\n"
        write(STDERR_FILENO, line, line.utf8.count)
        exit(64)
    }
    print(help)
    exit(0)
}

// Without a handler (Watchdog.onTerminate), the library ignores the request over the channel.
signal(SIGTERM, SIG_IGN)

Watchdog.start()
Watchdog.ready()
print("IgnoresTerm: ready")
fflush(nil)
Watchdog.run()
