// SPDX-License-Identifier: Apache-2.0

// usage: Benchmarks PRODUCTS SUBJECTS SCRATCH [SECTION…]
//
// Measures what the project promises and prints one page. Started by Benchmarks/run.

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

let sections: [(name: String, run: (Bench, inout Page) throws -> Void)] = [
    ("lateness", { try Lateness(bench: $0).run(on: &$1) }),
    ("simultaneous", { try Simultaneous(bench: $0).run(on: &$1) }),
    ("launch", { try Launch(bench: $0).run(on: &$1) }),
    ("capture", { try Capture(bench: $0).run(on: &$1) }),
    ("symbols", { try Symbols(bench: $0).run(on: &$1) }),
    ("reader", { try Reader(bench: $0).run(on: &$1) }),
    ("stacks", { try Stacks(bench: $0).run(on: &$1) }),
    ("startup", { try Startup(bench: $0).run(on: &$1) }),
    ("pings", { try Pings(bench: $0).run(on: &$1) }),
    ("succession", { try Succession(bench: $0).run(on: &$1) }),
    ("services", { try Services(bench: $0).run(on: &$1) }),
    ("calls", { try Calls(bench: $0).run(on: &$1) }),
    ("metrics", { try Metrics(bench: $0).run(on: &$1) }),
    ("outside", { try Outside(bench: $0).run(on: &$1) }),
    ("testkit", { try TestKit(bench: $0).run(on: &$1) }),
    ("crowd", { try Crowd(bench: $0).run(on: &$1) }),
]

func fail(_ message: String, code: Int32) -> Never {
    let line = "bench: \(message)\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(code)
}

let arguments = CommandLine.arguments.dropFirst()
let wanted = arguments.dropFirst(3)
guard arguments.count >= 3 else { fail("usage: Benchmarks PRODUCTS SUBJECTS SCRATCH [SECTION...]", code: 64) }
for name in wanted where !sections.contains(where: { $0.name == name }) {
    fail("unknown section '\(name)'; there are \(sections.map(\.name).joined(separator: ", "))", code: 64)
}

/// Runs the sections; reports a section that fails, and continues with the others.
@MainActor
func measure() throws -> Bool {
    let bench = try Bench(products: arguments[1], subjects: arguments[2], scratch: arguments[3])
    var page = Page()
    let started = Instant.now()
    let usage = Machine.Usage.now()
    page.headline([
        "watchdogd benchmarks, \(Machine.date()), \(geteuid() == 0 ? "as root" : "as an ordinary user")",
        Machine.description(),
        "observer: \(bench.scheduling)",
        "ratio: of medians, to the section's first row; goal: for the median[/p99]",
    ])
    var isWhole = true
    for section in sections where wanted.isEmpty || wanted.contains(section.name) {
        do {
            try section.run(bench, &page)
        } catch {
            page.note("FAILED: \(error)")
            isWhole = false
        }
    }
    let seconds = ((Instant.now() - started).milliseconds / 1000).decimal(0)
    let conclusion = page.missedGoals == 0 ? "All goals met" : "Goals missed: \(page.missedGoals)"
    let others = Machine.Usage.now().othersPercentage(since: usage)
    page.headline([
        "",
        "\(isWhole ? conclusion : "Not all could be measured"). Took \(seconds) s; others used \(others) % of the CPU time.",
    ])
    return isWhole
}

do {
    try Subreaper.become()
    exit(try measure() ? 0 : 1)
} catch {
    fail("\(error)", code: 1)
}
