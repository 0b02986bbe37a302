// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogImport

/// The installed systemd, as far as it works without being process 1.
private enum InstalledSystemd {
    static let analyze = "/usr/bin/systemd-analyze"
    static let manager = "/lib/systemd/systemd"
    static let isThere = access(analyze, X_OK) == 0 && access(manager, X_OK) == 0
    static let reason = "\(analyze) or \(manager) is not installed"
}

@Suite(
    "Units compared with systemd", .enabled(if: InstalledSystemd.isThere, "\(InstalledSystemd.reason)"), .reapsChildren)
struct SystemdComparisonTests {
    private static let timeSpans = [
        "0", "0s", "0min", "1min 30s", "1min30s", "5", "500ms", "1.5h", ".5s", "+5s", "5.", "1w", "1.5w", "1M", "1.5M",
        "1y",
        "2 h", "1h 30", "1hr", "90 sec", "3 minutes", "1 1", "infinity", " infinity ", "-1", "5e3", "5 parsecs", "1h x",
        "2d 4hours",
        "1months", "5usec", "3µs", "1.25min", "100y", "1,5s", "s", "0.0001",
    ]

    @Test("Time spans have systemd's length, or are invalid for both", arguments: timeSpans)
    func spans(text: String) throws {
        let answer = output(of: "\(InstalledSystemd.analyze) timespan '\(text.replacing("-", with: "\\-"))'")
        let microseconds = answer.text.split(separator: "\n").first { $0.contains("s: ") && !$0.contains("Human") }
            .flatMap { Double($0.split(separator: " ").last ?? "") }
        let result = try service("TimeoutStopSec=\(text)")
        let ours = result.settings.first { $0.hasPrefix("Terminate=") }?.dropFirst("Terminate=".count)
        let isDropped = result.lines.contains { $0.contains("dropped: TimeoutStopSec=") }
        guard let microseconds, answer.status == 0, !text.hasPrefix("-") else {
            #expect(ours == "1min 30s" && isDropped, "\(text)")
            return
        }
        // Neither 0 nor infinity is an allowance; an allowance has at least a millisecond.
        if microseconds == 0 || microseconds > 1e18 {
            #expect(ours == "1h", "\(text)")
            return
        }
        if microseconds < 1000 {
            #expect(isDropped, "\(text)")
            return
        }
        let span = try TimeSpan.parse(String(try #require(ours, "\(text)")))
        #expect(span.components.seconds == Int64(microseconds / 1e6), "\(text): \(ours ?? "")")
        #expect(span.components.attoseconds / 1_000_000_000_000 == Int64(microseconds) % 1_000_000, "\(text)")
    }

    @Test("A key that systemd ignores in its section is named and not converted")
    func sections() throws {
        let dump = output(of: "\(InstalledSystemd.manager) --dump-configuration-items --no-pager").text
        var section = ""
        var sections: [String: Set<String>] = [:]
        for line in dump.split(separator: "\n") {
            if line.hasPrefix("[") {
                section = String(line.dropFirst().dropLast())
            } else if let equals = line.firstIndex(of: "="), ["Unit", "Service", "Install"].contains(section) {
                sections[String(line[..<equals]), default: []].insert(section)
            }
        }
        try #require(sections.count > 300)
        let names = ["Unit", "Service", "Install"]
        for (key, right) in sections where key != "ExecStart" {
            for section in names {
                let text = "[Service]\nExecStart=/bin/true\n[\(section)]\n\(key)=1\n"
                let result = try? imported(text, as: "a.service")
                let isStray = result?.lines.contains { $0.hasPrefix("a.service:4: dropped: \(key)=1 is in [") } ?? false
                #expect(isStray != right.contains(section), "\(key)= in [\(section)]: \(result?.lines ?? [])")
            }
        }
    }
}
