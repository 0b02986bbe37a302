// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogConfiguration
import WatchdogImport

/// Conversions of realistic files; `WATCHDOGD_UPDATE_GOLDENS=1` rewrites the expectations.
@Suite("Imports of whole files")
struct GoldenTests {
    private static let inputs = [
        "nginx.service", "redis.service", "ssh.service", "cron.service", "worker@.service", "supervisord.conf",
        "monitrc", "compose.yml",
    ]

    private func importing(_ path: String, in folder: String = "/etc/here") throws -> ImportResult {
        let importer = Importer(PackageFileSystem(), specifiers: .system, workingDirectory: folder)
        return try importer.importing(path)
    }

    private func text(_ result: ImportResult) -> String {
        result.apps.map(\.text).joined(separator: "\n") + "\n" + result.notes.map { "\($0)\n" }.joined()
            + result.apps.flatMap(\.definition.diagnostics).map { "\($0)\n" }.joined() + result.summary + "\n"
    }

    private func compare(_ text: String, with name: String) throws {
        let path = "\(PackageFileSystem.fixtures)/\(name).expected"
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let expected = try String(contentsOfFile: path, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let ours = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, pair) in zip(ours, expected).enumerated() where pair.0 != pair.1 {
            Issue.record("\(name).expected:\(number + 1): \"\(pair.0)\" was \"\(pair.1)\"")
            return
        }
        #expect(ours.count == expected.count)
    }

    @Test("The conversion of a file is unchanged", arguments: inputs)
    func file(path: String) throws {
        try compare(text(try importing(path)), with: path)
    }

    @Test("The conversion of a service folder is unchanged")
    func folder() throws {
        try compare(text(try importing("/etc/sv/getty")), with: "getty")
    }

    /// Any units on this machine: each becomes a valid app, is skipped, or is rejected with its line.
    @Test("Every unit of this machine is imported, skipped or rejected")
    func installedUnits() throws {
        let folder = "/lib/systemd/system"
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
            .filter { $0.hasSuffix(".service") }
        for name in names.sorted() {
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)"), !data.isEmpty else { continue }
            do {
                let result = try importing("\(folder)/\(name)")
                let isSkipped = result.notes.contains { $0.kind == .skipped }
                #expect(result.apps.count == (isSkipped ? 0 : 1), "\(name)")
                #expect(result.apps.allSatisfy { $0.definition.configuration != nil }, "\(name)")
            } catch let error as ImportError {
                #expect(error.message.contains("ExecStart") || error.message.contains("app's name"), "\(error)")
            }
        }
    }
}
