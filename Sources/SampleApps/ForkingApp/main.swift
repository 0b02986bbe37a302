// SPDX-License-Identifier: Apache-2.0

// An app that starts processes that try to outlive it: one in its own process group, and one in its own session with
// another parent, like a daemon.

import Glibc
import Watchdog

let help = """
    usage: ForkingApp [--exit]

    Starts two grandchildren, prints their process ids, says that it is ready and answers pings.
    The grandchildren end by themselves after ten minutes.

    --exit   exit at once with code 0 and leave the grandchildren behind
    --help   show this help
    """

func fail(_ problem: String) -> Never {
    let line = "ForkingApp: \(problem) (try --help)\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(64)
}

var leavesAtOnce = false
for argument in CommandLine.arguments.dropFirst() {
    switch argument {
    case "--help":
        print(help)
        exit(0)
    case "--exit":
        leavesAtOnce = true
    case Grandchild.option:
        Grandchild.live()
    case Grandchild.daemonOption:
        Grandchild.becomeDaemon()
    default:
        fail("unknown argument '\(argument)'")
    }
}

// Takes the channel before any child is started, so that no child inherits it.
Watchdog.start()

let inGroup = Grandchild.start(Grandchild.option, inOwnGroup: true)
print("own process group: \(inGroup)")
fflush(nil)

let intermediate = Grandchild.start(Grandchild.daemonOption, inOwnGroup: false)
var status: Int32 = 0
waitpid(intermediate, &status, 0)

if leavesAtOnce {
    exit(0)
}
Watchdog.ready()
print("ForkingApp: ready")
fflush(nil)
Watchdog.run()
