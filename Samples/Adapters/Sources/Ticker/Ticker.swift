// SPDX-License-Identifier: Apache-2.0

// An app of services that is watched where they run, on the cooperative pool. SIGUSR1 makes it block every thread of the pool
// for a second.

import Dispatch
import Glibc
import Logging
import ServiceLifecycle
import UnixSignals
import Watchdog
import WatchdogLifecycle

struct TickingService: Service {
    func run() async throws {
        Watchdog.ready()
        say("ticks")
        var ticks = 0
        while !Task.isShuttingDownGracefully {
            ticks += 1
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .milliseconds(50)) }
        }
        say(ticks > 0 ? "ticked" : "never ticked")
    }
}

func say(_ text: String) {
    print("Ticker: \(text)")
    fflush(nil)
}

/// What a careless service does: it waits in a system call, on every thread there is.
func blockPool() {
    let threads = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    say("blocks \(threads) threads")
    for _ in 0..<threads { Task { usleep(1_000_000) } }
}

@main
enum Ticker {
    static func main() async throws {
        signal(SIGUSR1, SIG_IGN)
        let blocker = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        blocker.setEventHandler { @Sendable in blockPool() }
        blocker.activate()
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: TickingService()),
                    .init(service: WatchdogService(), successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm],
                logger: Logger(label: "Ticker", factory: { _ in SwiftLogNoOpLogHandler() })
            )
        )
        try await group.run()
        say("ends")
        withExtendedLifetime(blocker) {}
    }
}
