// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogConfiguration

/// The output of `watchdogd check` for files with every kind of mistake.
///
/// `WATCHDOGD_UPDATE_GOLDENS=1 swift test --filter GoldenTests` rewrites it.
@Suite("Goldens")
struct GoldenTests {
    private static let folder = "Tests/WatchdogConfigurationTests/Goldens"

    private func report() throws -> CheckReport {
        var report = CheckReport()
        for name in ["migrated", "mistyped", "odd@values"] {
            let path = "\(Self.folder)/\(name).app"
            let dropIn = "\(Self.folder)/\(name).app.d/local.conf"
            var files = [ConfigurationFile(path: "\(name).app", text: try TestFiles.text(path))]
            if let text = try? TestFiles.text(dropIn) {
                files.append(ConfigurationFile(path: "\(name).app.d/local.conf", text: text))
            }
            var listing = ConfigurationListing()
            listing.apps = [AppDefinition(name: try AppName(name), files: files, specifiers: specifiers)]
            report.add(listing)
        }
        return report
    }

    @Test("The text is unchanged")
    func text() throws {
        try compare(try report().text, with: "check.txt")
    }

    @Test("The JSON is unchanged")
    func json() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try compare(String(decoding: try encoder.encode(try report()), as: UTF8.self) + "\n", with: "check.json")
    }

    private func compare(_ text: String, with name: String) throws {
        let path = "\(Self.folder)/\(name)"
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            try TestFiles.write(text, to: path)
        }
        let golden = try TestFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false)
        let ours = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, pair) in zip(ours, golden).enumerated() where pair.0 != pair.1 {
            Issue.record("\(name):\(number + 1): \"\(pair.0)\" was \"\(pair.1)\"")
            return
        }
        #expect(ours.count == golden.count)
    }
}
