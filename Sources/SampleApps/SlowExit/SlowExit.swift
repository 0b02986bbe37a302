// SPDX-License-Identifier: Apache-2.0

// An app that exits slowly: it saves its data at the last moment, on the main thread.

import Glibc
import Watchdog

@main
final class SlowExit: LaunchableApplication {
    private static let help = """
        usage: SlowExit --seconds N

        Gets ready, answers pings and, asked to end, writes back a cache on the main thread for N seconds before it does.

        --seconds N   how long that takes, such as 0.5 or 30
        --help        show this help
        """

    private let seconds: Double

    init() {
        var arguments = CommandLine.arguments.dropFirst()
        var seconds: Double?
        while let argument = arguments.popFirst() {
            switch argument {
            case "--help":
                print(Self.help)
                exit(0)
            case "--seconds":
                guard let value = arguments.popFirst().flatMap(Double.init), (0...1e9).contains(value) else {
                    Self.fail("--seconds needs a number of seconds")
                }
                seconds = value
            default:
                Self.fail("unknown argument '\(argument)'")
            }
        }
        guard let seconds else { Self.fail("--seconds is missing") }
        self.seconds = seconds
    }

    func applicationDidBecomeActive(_ application: Application) {
        print("SlowExit: ready")
        fflush(nil)
    }

    func applicationWillTerminate(_ application: Application) {
        print("SlowExit: ending")
        fflush(nil)
        let entries = writeBackCache(within: seconds)
        print("SlowExit: \(entries) entries written back")
    }

    private static func fail(_ problem: String) -> Never {
        let line = "SlowExit: \(problem) (try --help)\n"
        write(STDERR_FILENO, line, line.utf8.count)
        exit(64)
    }
}
