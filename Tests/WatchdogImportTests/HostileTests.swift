// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Hostile files")
struct HostileTests {
    private static let inputs = [
        "nginx.service", "redis.service", "worker@.service", "supervisord.conf", "monitrc", "compose.yml",
    ]

    private func importing(_ bytes: [UInt8], as name: String) throws(ImportError) -> ImportResult {
        let importer = Importer(OneFile(bytes: bytes), specifiers: .system, workingDirectory: "/srv")
        return try importer.importing("/srv/\(name)")
    }

    /// A file system with one file.
    private struct OneFile: ConfigurationFileSystem {
        let bytes: [UInt8]

        func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
            Array(bytes.prefix(limit))
        }

        func names(in directory: String) throws(ConfigurationReadError) -> [String] {
            throw ConfigurationReadError(isMissing: true, "no folder")
        }
    }

    @Test("A damaged file becomes valid apps or an error, and nothing else", arguments: inputs)
    func mutations(name: String) throws {
        let original = try PackageFileSystem().contents(of: name, limit: 1 << 20)
        var random = SeededGenerator(seed: 1)
        let pieces = [
            "", "\n", " ", "=", "[", "{", "\"", "'", "%", "$", "0", "99999999999", "infinity", ":", "-", "1us", "\t",
        ]
        for _ in 0..<40 {
            var bytes = original
            for _ in 0...random.below(4) {
                let start = random.below(bytes.count)
                let end = min(bytes.count, start + random.below(8))
                bytes.replaceSubrange(start..<end, with: random.pick(pieces).utf8)
            }
            guard let result = try? importing(bytes, as: name) else { continue }
            #expect(result.apps.allSatisfy { $0.definition.configuration != nil })
            #expect(result.notes.allSatisfy { !$0.description.contains("\n") })
        }
    }

    @Test("Sizes have limits, just over and just under")
    func sizes() throws {
        func message(_ text: String, _ name: String) -> String? {
            do throws(ImportError) {
                _ = try importing(Array(text.utf8), as: name)
                return nil
            } catch {
                return error.message
            }
        }
        func repeated(_ count: Int, _ line: (Int) -> String) -> String { (0..<count).map(line).joined() }
        let unit = "[Service]\nExecStart=/bin/a\n"
        #expect(message(unit + repeated(9_999) { _ in "Nice=1\n" }, "a.service") == nil)
        #expect(
            message(unit + repeated(10_000) { _ in "Nice=1\n" }, "a.service")
                == "the unit has more than 10,000 settings")
        #expect(message(repeated(1_000) { "[x\($0)]\n" }, "supervisord.conf") == nil)
        #expect(
            message(repeated(1_001) { "[x\($0)]\n" }, "supervisord.conf") == "the file has more than 1,000 sections")
        let services = "services:\n" + repeated(1_001) { "  a\($0): {}\n" }
        #expect(message(services, "compose.yml") == "the file has more than 1,000 services")
        #expect(message("services: [" + repeated(20_000) { _ in "a\n" }, "compose.yml")?.contains("4 KiB") == true)
        #expect(message(String(repeating: "#", count: 1 << 20), "monitrc") == nil)
        #expect(message(String(repeating: "#", count: (1 << 20) + 1), "monitrc") == "the file is longer than 1 MiB")
    }

    @Test("Times have limits")
    func times() throws {
        let unit = "[Service]\nExecStart=/bin/a\nTimeoutStopSec="
        for (text, isDropped) in [("100y", false), ("101y", true), ("100y 1s", true), ("1us", true), ("1ms", false)] {
            let result = try importing(Array((unit + text).utf8), as: "a.service")
            #expect(
                result.notes.contains { $0.description.contains("dropped: TimeoutStopSec=") } == isDropped, "\(text)")
        }
        let check =
            "services:\n  a:\n    entrypoint: /bin/a\n    healthcheck: {test: x, interval: 1us, timeout: 0s, start_period: 0s}\n"
        let result = try importing(Array(check.utf8), as: "compose.yml")
        #expect(result.notes.count { $0.description.contains("is not a time span") } == 2)
    }
}
