// SPDX-License-Identifier: Apache-2.0

// An app that becomes ready and then blocks its main thread forever, in one of several ways.

import Dispatch
import Glibc
import Watchdog

let help = """
    usage: HangMain --how WAY [--after SECONDS]

    Says that it is ready, answers pings, and after a while blocks its main thread forever. Until then SIGTERM ends it
    with exit code 0.

    --how sleep       sleeps
    --how semaphore   waits for a semaphore that its "downloader" thread never signals
    --how deadlock    waits for a mutex that its "indexer" thread holds, which waits for main's
    --how spin        computes without end
    --how network     waits for the answer of a server on the loopback that never answers
    --how filelock    waits for a file lock that a child process holds
    --how dns         looks up a host at a name server on the loopback that never answers
    --how continuation
                      lets a task wait forever, not its main thread, which goes on answering
    --after SECONDS   when, counted from ready (default: 1)
    --help            show this help
    """

func fail(_ problem: String) -> Never {
    let line = "HangMain: \(problem) (try --help)\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(64)
}

/// Exits, because the chosen hang cannot be staged in this environment.
func giveUp(_ problem: String) -> Never {
    let line = "HangMain: \(problem): \(String(cString: strerror(errno)))\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(71)
}

let ways: [String: @MainActor () -> Void] = [
    "sleep": { refreshTimeline() },
    "semaphore": { openDocument() },
    "deadlock": { saveSettings() },
    "spin": { renderChart() },
    "network": { signIn() },
    "filelock": { openLibrary() },
    "dns": { refreshAvatars() },
    "continuation": { loadProfile() },
]

var arguments = CommandLine.arguments.dropFirst()
var way: (@MainActor () -> Void)?
var delay = 1.0
while let argument = arguments.popFirst() {
    switch argument {
    case "--help":
        print(help)
        exit(0)
    case "--how":
        let name = arguments.popFirst() ?? ""
        guard let known = ways[name] else { fail("--how needs one of \(ways.keys.sorted().joined(separator: ", "))") }
        way = known
    case "--after":
        guard let value = arguments.popFirst().flatMap(Double.init), (0...1e9).contains(value) else {
            fail("--after needs a number of seconds")
        }
        delay = value
    case LockHolder.option:
        LockHolder.hold(arguments.popFirst() ?? "")
    default:
        fail("unknown argument '\(argument)'")
    }
}
guard let way else { fail("--how is missing") }

Watchdog.onTerminate { exit(0) }
Watchdog.start()
Watchdog.ready()
print("HangMain: ready")
fflush(nil)
DispatchQueue.main.asyncAfter(deadline: .now() + delay) { way() }
Watchdog.run()
