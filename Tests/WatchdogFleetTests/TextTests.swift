// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogFleet

@Suite("Texts and pages of the organizer")
struct TextTests {
    private static func example() -> OrganizerTable {
        var random = SeededGenerator(seed: 4)
        let organizer = Organizer(now: now)
        for incident in Fleet(rate: 0.1, factor: 5).incidents(&random) { organizer.add(incident) }
        organizer.add(incident("a-new-one", hour: 700, version: "1.1", event: "crash", role: .background))
        organizer.add(incident("h1", hour: 3, version: "", host: "", app: "indexer", event: "hang"))
        var events: [OrganizerEvent] = []
        for number in 0..<60 {
            let start = epoch + Int64(number) * 40_000
            let version = number < 35 ? "1.0" : "1.1"
            let launch = Duration.milliseconds(Int64(200 * (1 + random.normal() / 8)) + (number < 35 ? 0 : 90))
            events += [
                .launch(time: start, version: version, host: "web-1", duration: number == 7 ? nil : launch),
                .hang(time: start + 900, version: version, duration: .seconds(2)),
                .termination(
                    time: start + 36_000, version: version, reason: number % 9 == 0 ? "watchdog" : "normal",
                    event: number % 9 == 0 ? "scene-update" : nil, isForeground: number % 2 == 0),
            ]
        }
        organizer.add(events, of: "photo-server")
        return OrganizerTable(organizer, OrganizerTable.Extent(signatures: 5, hosts: 4))
    }

    @Test("The text fits 80 and 200 columns, and works without Unicode", arguments: [79, 199])
    func text(columns: Int) throws {
        let table = Self.example()
        let text = OrganizerText(columns: columns).text(table)
        try check(text, golden: "organizer-\(columns + 1).txt")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= columns })
        let plain = OrganizerText(columns: columns, isUnicode: false).text(table)
        #expect(plain.utf8.allSatisfy { $0 < 0x80 })
        #expect(plain.split(separator: "\n").allSatisfy { $0.count <= columns })
    }

    @Test("Without a terminal, lines have any length")
    func noTerminal() {
        var long = incident(hour: 1)
        long.frames = (0..<30).map { "function_number_\($0)()" }
        let lines = OrganizerText(columns: .max).text(table([long])).split(separator: "\n")
        #expect(lines.contains { $0.contains("function_number_0()") && !$0.contains("…") })
        #expect(lines.contains { $0.count > 199 })
    }

    @Test("The JSON has sorted keys and does not change")
    func json() throws { try check(OrganizerReply(Self.example()).json, golden: "organizer.json") }

    @Test("The page does not change")
    func page() throws { try check(OrganizerPage.render(Self.example()), golden: "organizer.html") }

    @Test("An empty result yields a text, JSON and a page")
    func empty() {
        let table = table([])
        #expect(OrganizerText().text(table) == "no incidents\n")
        #expect(OrganizerReply(table).json.contains("\"apps\" : ["))
        #expect(OrganizerPage.render(table).contains("0 incidents of 0 apps"))
    }

    @Test("Names control neither the terminal nor the page")
    func hostileNames() {
        let evil = "\u{1b}[2J\u{202e}<script>alert(1)</script>\"'&\n"
        var incidents = [incident(hour: 1)]
        for (number, version) in [evil, evil + "2"].enumerated() {
            var hostile = incident(
                evil, hour: Double(number), version: version, host: evil, app: evil, event: evil, id: evil + version)
            hostile.cause = evil
            hostile.frames = [evil, evil]
            incidents.append(hostile)
        }
        let table = table(incidents)
        for columns in [79, 199] {
            let text = OrganizerText(columns: columns).text(table)
            #expect(
                text.unicodeScalars.allSatisfy { scalar in
                    scalar == "\n" || (scalar.value >= 0x20 && scalar.value != 0x7f && scalar != "\u{202e}")
                })
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= columns })
        }
        let page = OrganizerPage.render(table)
        #expect(!page.contains("<script") && !page.contains("\u{1b}") && !page.contains("\u{202e}"))
        #expect(page.contains("&lt;script&gt;"))
        #expect(page.contains("default-src &#39;none&#39;"))
    }

    @Test("Numbers have two significant digits")
    func numbers() {
        let texts = [0, 0.001, 0.05, 0.999, 1.24, 9.96, 12.5, 1_234].map(OrganizerWords.number)
        #expect(texts == ["0", "0.001", "0.050", "1.0", "1.2", "10", "13", "1234"])
        #expect(OrganizerWords.number(.infinity) == "-")
        #expect(OrganizerWords.grouped(1_234_567) == "1,234,567" && OrganizerWords.grouped(12) == "12")
    }
}
