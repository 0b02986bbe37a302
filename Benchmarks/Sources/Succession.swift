// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// From the start of the next watchdogd, after the last one was killed, until it watches over all apps again.
struct Succession {
    private static let apps = 1_000
    private static let rounds = 5

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Start after kill -9 to READY=1")
        let empty = try Host(bench, apps: 0)
        page.row("no apps", try empty.measure(rounds: Self.rounds))
        let full = try Host(bench, apps: Self.apps)
        page.row("\(Self.apps) apps that run on", try full.measure(rounds: Self.rounds), goal: Page.Goal(median: 300))
        page.note("Processes after \(Self.rounds) kills: \(full.survivors) of \(Self.apps).")
    }

    /// Plays the service manager for one `watchdogd serve` after the other.
    private final class Host {
        private let bench: Bench
        private let directory: String
        private let runtime: RuntimeDirectory
        private let socket: NotifySocket
        private var store: [(name: String, descriptor: OwnedDescriptor)] = []
        private var daemon: Pidfd?

        init(_ bench: Bench, apps: Int) throws {
            self.bench = bench
            directory = bench.freshPath("serve")
            runtime = try RuntimeDirectory.lasting("bench-\(getpid())-\(apps)")
            socket = try NotifySocket(in: runtime, name: "manager")
            mkdir(directory, 0o755)
            mkdir("\(directory)/apps", 0o755)
            for number in 0..<apps {
                guard let file = fopen("\(directory)/apps/app\(number).app", "w") else {
                    throw Failure("cannot write to \(directory)")
                }
                fputs("[App]\nExecStart=/bin/sleep infinity\n[Watchdog]\nReadiness=none\n", file)
                fclose(file)
            }
            _ = try start()
        }

        deinit {
            defer { runtime.remove() }
            guard let daemon else { return }
            try? daemon.send(SIGTERM)
            var entry = pollfd(fd: daemon.descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, 30_000)
            _ = try? daemon.waitExit()
        }

        func measure(rounds: Int) throws -> Sample {
            var sample = Sample()
            for _ in 0..<rounds {
                try daemon?.send(SIGKILL)
                if let daemon {
                    var entry = pollfd(fd: daemon.descriptor.number, events: Int16(POLLIN), revents: 0)
                    poll(&entry, 1, 10_000)
                    _ = try daemon.waitExit()
                }
                _ = try hear()
                sample.add(try start())
            }
            return sample
        }

        /// Processes of which the service manager has the pidfd, and that live.
        var survivors: Int {
            Set(
                store.compactMap { entry in
                    if case .process(let pid?) = DescriptorKind(of: entry.descriptor) { pid } else { nil }
                }
            ).count
        }

        private func start() throws -> Duration {
            var request = SpawnRequest.underTest(
                bench.watchdogd,
                [
                    "serve", "--user", "--quiet", "--config", "\(directory)/apps", "--control",
                    "\(directory)/control", "--reports", bench.reports,
                ], output: 1)
            request.environment["NOTIFY_SOCKET"] = socket.address
            if getenv("XDG_RUNTIME_DIR") == nil { request.environment["XDG_RUNTIME_DIR"] = directory }
            // A service manager with nothing to pass sets no variables: for sd_listen_fds(3), zero is an error.
            if !store.isEmpty {
                request.environment["LISTEN_FDS"] = "\(store.count)"
                request.environment["LISTEN_FDNAMES"] = store.map(\.name).joined(separator: ":")
                request.processIdVariables = ["LISTEN_PID"]
            }
            for (index, entry) in store.enumerated() {
                request.descriptors.append(.init(entry.descriptor.number, as: 3 + Int32(index)))
            }
            let begun = Instant.now()
            daemon = try spawn(request).process
            while try !hear() {
                var entry = pollfd(fd: socket.descriptor.number, events: Int16(POLLIN), revents: 0)
                guard poll(&entry, 1, 60_000) == 1 else { throw Failure("watchdogd serve does not get ready") }
            }
            return .now() - begun
        }

        /// Whether it has reported that it is ready.
        private func hear() throws -> Bool {
            var isReady = false
            while let (message, descriptors) = try socket.receiveAll() {
                let lines = String(decoding: message.bytes, as: UTF8.self).split(separator: "\n")
                if lines.contains("READY=1") { isReady = true }
                guard let name = lines.first(where: { $0.hasPrefix("FDNAME=") })?.dropFirst(7) else { continue }
                if lines.contains("FDSTORE=1") { store += descriptors.map { (String(name), $0) } }
                if lines.contains("FDSTOREREMOVE=1") { store.removeAll { $0.name == name } }
            }
            return isReady
        }
    }
}
