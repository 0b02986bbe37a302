// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetworkConditioner
import WatchdogBase
import WatchdogLaunch

/// `watchdogd conditioner`: simulates a bad network in front of a server.
struct ConditionerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conditioner",
        abstract: "Forward TCP connections through a simulated bad network.",
        discussion: """
            Listens on one address and forwards every connection to another, with the bandwidth, delay and loss of a \
            profile: \(LinkProfile.presets.map(\.name).joined(separator: ", ")). All connections share the bandwidth. \
            A loss shows as a pause, because TCP retransmits. Exits with 0 on SIGTERM or SIGINT.
            """
    )

    @Option(help: ArgumentHelp("Network profile to simulate.", valueName: "name"), transform: profile)
    var profile: LinkProfile

    @Option(
        help: ArgumentHelp("Listen on this address; port 0 picks a free port.", valueName: "addr"), transform: address)
    var listen: SocketAddress

    @Option(help: ArgumentHelp("Forward connections to this address.", valueName: "addr"), transform: address)
    var to: SocketAddress

    @Option(
        help: ArgumentHelp("Delay in each direction, instead of the profile's.", valueName: "span"),
        transform: RunOptions.span)
    var latency: Duration?

    @Option(help: ArgumentHelp("Bandwidth in each direction, instead of the profile's.", valueName: "kbit/s"))
    var bandwidth: Double?

    @Option(help: ArgumentHelp("Segment loss in each direction, instead of the profile's.", valueName: "percent"))
    var loss: Double?

    func validate() throws {
        if let bandwidth, !(1...10_000_000).contains(bandwidth) {
            throw ValidationError("--bandwidth \(bandwidth) is out of range; use kbit/s from 1 to 10000000")
        }
        if let loss, !(0...100).contains(loss) {
            throw ValidationError("--loss \(loss) is out of range; use a percentage from 0 to 100")
        }
    }

    func run() throws {
        do throws(ConditionerError) {
            let link = profile.with(delay: latency, kilobitsPerSecond: bandwidth, loss: loss.map { $0 / 100 })
            let conditioner = try Conditioner(listen: listen, to: to, profile: link)
            print("listening on \(conditioner.address), forwarding to \(to), network: \(link.name)")
            fflush(nil)
            try conditioner.run(until: EndSignal.descriptor())
        } catch {
            StandardError.say(error.description)
            // EX_OSERR of sysexits.h, or EX_UNAVAILABLE for an address in use.
            throw ExitCode(error.number == EADDRINUSE ? 69 : 71)
        }
    }

    private static func profile(_ text: String) throws -> LinkProfile {
        do {
            return try LinkProfile.named(text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    private static func address(_ text: String) throws -> SocketAddress {
        do {
            return try SocketAddress(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }
}

/// Turns SIGTERM and SIGINT into a descriptor that becomes readable.
private enum EndSignal {
    // SAFETY: set once, before the handler that reads it is installed.
    private nonisolated(unsafe) static var writeEnd: Int32 = -1

    static func descriptor() -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return -1 }
        writeEnd = ends[1]
        for signal in [SIGTERM, SIGINT] {
            // write(2) is async-signal-safe: signal-safety(7).
            Glibc.signal(signal) { _ in _ = write(EndSignal.writeEnd, "x", 1) }
        }
        return ends[0]
    }
}
