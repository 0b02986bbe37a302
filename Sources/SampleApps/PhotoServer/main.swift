// SPDX-License-Identifier: Apache-2.0

// The server of the sample apps: a photo service on the loopback, behind a simulated bad network.

import Glibc
import NetworkConditioner
import SampleSupport
import Watchdog
import WatchdogBase

let help = """
    usage: PhotoServer [options]

    Serves lists and photos over HTTP until SIGTERM ends it: /feed.json, /friends.json, /license, /photos/1.png and on,
    /avatars/1.png and on.

    --listen ADDR          where (default: 127.0.0.1:8225); port 0 for any
    --profile NAME         the network in front of it: \(LinkProfile.presets.map(\.name).joined(separator: ", "))
    --latency SPAN         the time in each direction, instead of the profile's
    --bandwidth KBITS      in each direction, instead of the profile's
    --loss PERCENT         in each direction, instead of the profile's
    --delay PATH=SPAN      thinks as long before it answers this path; 'forever' never answers; may be repeated
    --time-scale X         multiplies all these times (default: $SAMPLE_TIME_SCALE or 1)
    --help                 show this help
    """

func fail(_ problem: String, code: Int32 = 64) -> Never {
    let line = "PhotoServer: \(problem)\(code == 64 ? " (try --help)" : "")\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(code)
}

func span(_ text: String) -> Duration {
    do {
        return try TimeSpan.parse(text)
    } catch {
        fail("\(error)")
    }
}

func number(_ text: String, _ range: ClosedRange<Double>, _ what: String) -> Double {
    guard let value = Double(text), range.contains(value) else {
        fail("\(what) is a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return value
}

var profile = LinkProfile.perfect
var address = "127.0.0.1:8225"
var spans: [String: String] = [:]
var scale = getenv("SAMPLE_TIME_SCALE").map { number(String(cString: $0), 0.01...10, "a time scale") } ?? 1
var arguments = CommandLine.arguments.dropFirst()
var (latency, bandwidth, loss): (Duration?, Double?, Double?)
while let argument = arguments.popFirst() {
    guard argument != "--help" else {
        print(help)
        exit(0)
    }
    let options = ["--listen", "--profile", "--latency", "--bandwidth", "--loss", "--delay", "--time-scale"]
    guard options.contains(argument) else { fail("unknown argument '\(argument)'") }
    guard let value = arguments.popFirst() else { fail("\(argument) needs a value") }
    switch argument {
    case "--listen": address = value
    case "--profile":
        do {
            profile = try LinkProfile.named(value)
        } catch {
            fail("\(error)")
        }
    case "--latency": latency = span(value)
    case "--bandwidth": bandwidth = number(value, 1...10_000_000, "a bandwidth in kbit/s")
    case "--loss": loss = number(value, 0...100, "a loss in per cent") / 100
    case "--time-scale": scale = number(value, 0.01...10, "a time scale")
    default:
        guard let equals = value.lastIndex(of: "="), value.hasPrefix("/") else { fail("--delay needs PATH=SPAN") }
        spans[String(value[..<equals])] = String(value[value.index(after: equals)...])
    }
}
profile = profile.with(delay: latency, kilobitsPerSecond: bandwidth, loss: loss).scaled(by: scale)
let delays = spans.mapValues { text -> HTTPServer.Delay in
    text == "forever" ? .forever : .time(span(text) * scale)
}

do {
    let catalogue = try Catalogue()
    for path in delays.keys where catalogue[path] == nil {
        fail("there is no \(path) to delay; there are \(catalogue.paths.prefix(4).joined(separator: ", ")) and others")
    }
    // The server itself is fast; the conditioner simulates the network in front of it.
    let server = try HTTPServer(.loopback(0), catalogue, delays: delays)
    let conditioner = try Conditioner(
        listen: try SocketAddress(parsing: address), to: server.address, profile: profile)
    let (hidden, front) = (Sending(server), Sending(conditioner))
    Work.start("server") { hidden.value.run() }
    Work.start("network") {
        do {
            try front.value.run()
        } catch {
            fail("\(error)", code: 71)
        }
    }
    Watchdog.onTerminate { exit(0) }
    Watchdog.start()
    Watchdog.ready()
    print("PhotoServer: listening on \(conditioner.address), network: \(profile.name)")
    fflush(nil)
} catch let error as SocketAddress.SyntaxError {
    fail("\(error)")
} catch {
    fail("\(error)", code: 71)
}
Watchdog.run()

/// Transfers a value to another thread, the only one to use it from then on.
struct Sending<Value>: @unchecked Sendable {
    // SAFETY: the main thread does not touch the value again.
    let value: Value

    init(_ value: Value) { self.value = value }
}
