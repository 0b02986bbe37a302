// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

/// Compares `units/watchdogd.catalog` with the existing messages.
@Suite("The message catalogue")
struct CatalogTests {
    private struct Message {
        var id: String
        var headers: [String: String] = [:]
        var text: [Substring] = []
    }

    /// The format is defined in https://systemd.io/CATALOG/: `-- ID`, headers, an empty line, text.
    private static func messages() throws -> [Message] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let data = try Data(contentsOf: URL(filePath: "/\(root)/units/watchdogd.catalog"))
        var messages: [Message] = []
        var isInHeader = false
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("-- ") {
                messages.append(Message(id: String(line.dropFirst(3))))
                isInHeader = true
            } else if messages.isEmpty {
                continue
            } else if isInHeader, let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                messages[messages.count - 1].headers[String(line[..<colon])] = String(value)
            } else {
                isInHeader = false
                messages[messages.count - 1].text.append(line)
            }
        }
        return messages
    }

    @Test("every message id is in the catalogue exactly once, and the catalogue has no others")
    func complete() throws {
        let catalogued = try Self.messages().map(\.id)
        #expect(Set(catalogued).count == catalogued.count)
        #expect(Set(catalogued) == Set(EventKind.allCases.map(\.messageID)))
        #expect(Set(EventKind.allCases.map(\.messageID)).count == EventKind.allCases.count)
    }

    @Test("every id is a random UUID of 128 bits in lowercase hexadecimal", arguments: EventKind.allCases)
    func identifiers(kind: EventKind) {
        #expect(kind.messageID.utf8.count == 32)
        #expect(kind.messageID.allSatisfy { "0123456789abcdef".contains($0) })
        #expect(Array(kind.messageID)[12] == "4")
    }

    @Test("every message has a subject, a defining project, and a paragraph that fits a terminal")
    func form() throws {
        for message in try Self.messages() {
            #expect(message.headers["Subject"]?.isEmpty == false, "\(message.id)")
            #expect(message.headers["Defined-By"] == "watchdogd", "\(message.id)")
            #expect(message.headers["Support"]?.hasPrefix("https://") == true, "\(message.id)")
            #expect(message.headers["Documentation"] != nil, "\(message.id)")
            #expect(message.text.joined(separator: " ").split(separator: " ").count >= 15, "\(message.id)")
            for line in message.text { #expect(line.count <= 90, "\(message.id): \(line)") }
        }
    }

    @Test("docs/journal.md lists every message with its priority")
    func documented() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let page = String(decoding: try Data(contentsOf: URL(filePath: "/\(root)/docs/journal.md")), as: UTF8.self)
        for kind in EventKind.allCases {
            #expect(page.contains("| `\(kind.rawValue)` | \(kind.priority) | `\(kind.messageID)` |"))
        }
    }

    @Test("the explanations use only existing fields")
    func fields() throws {
        let known: Set<String> = [
            "WATCHDOGD_APP", "WATCHDOGD_PID", "WATCHDOGD_LAUNCH_ID", "WATCHDOGD_EVENT", "WATCHDOGD_VERDICT",
            "WATCHDOGD_REPORT", "WATCHDOGD_CODE", "WATCHDOGD_DURATION_USEC", "WATCHDOGD_SOURCE", "EXIT_CODE",
            "EXIT_STATUS", "WATCHDOGD_PROBE", "WATCHDOGD_FAILURES", "WATCHDOGD_MARK",
        ]
        for message in try Self.messages() {
            let text = (message.text.map(String.init) + [message.headers["Subject"] ?? ""]).joined(separator: "\n")
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            #expect(parts.count % 2 == 1, "\(message.id)")
            for index in stride(from: 1, to: parts.count, by: 2) {
                #expect(known.contains(String(parts[index])), "\(message.id): \(parts[index])")
            }
        }
    }
}
