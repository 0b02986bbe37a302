// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("docs/limits.md")
struct LimitTests {
    /// A row of a table: the page's text, and the constants that it names.
    private struct Row: Sendable, CustomTestStringConvertible {
        let what: String
        let value: String
        let constants: [Constant]

        var testDescription: String { what }
    }

    private struct Constant: Hashable, Sendable {
        let file: String
        let name: String
    }

    private static let rows: [Row] = (SourceTree.file("docs/limits.md")?.lines ?? []).compactMap { line in
        let cells = line.split(separator: "|").map { $0.trimmed }
        guard line.hasPrefix("| "), cells.count == 4, !cells[0].hasPrefix("---"), cells[0] != "what" else { return nil }
        let constants = cells[3].matches(of: #/`([^`:]+): (\w+)`/#).map {
            Constant(file: String($0.output.1), name: String($0.output.2))
        }
        return Row(what: cells[0], value: cells[1], constants: constants)
    }

    private static let sources = SourceTree.files(below: "Sources")

    private static func files(named name: String) -> [SourceFile] {
        sources.filter { $0.path.split(separator: "/").last.map(String.init) == name }
    }

    @Test("Each row has the code's values", arguments: rows)
    private func values(row: Row) throws {
        #expect(!row.constants.isEmpty)
        for constant in row.constants {
            let files = Self.files(named: constant.file)
            try #require(files.count == 1, "\(constant.file): \(files.map(\.path))")
            let expression = try #require(
                files.first.flatMap { Self.expression(of: constant.name, in: $0) },
                "\(constant.file) has no constant \(constant.name)")
            let words = try #require(Limit.words(of: expression), "\(constant.name) = \(expression)")
            for word in words {
                #expect(
                    Self.contains(row.value, word), "\(constant.name) is \(word), and the page says \(row.value)")
            }
        }
    }

    /// Whether a text contains words that are not part of longer ones: "5 s" is not in "15 s".
    private static func contains(_ text: String, _ words: String) -> Bool {
        text.ranges(of: words).contains { range in
            let before = text[..<range.lowerBound].last
            let after = text[range.upperBound...].first
            return before.map { !$0.isNumber && $0 != "," } ?? true
                && after.map { !$0.isLetter && !$0.isNumber } ?? true
        }
    }

    /// The value of a constant, a stored property or a parameter.
    private static func expression(of name: String, in file: SourceFile) -> String? {
        let declaration =
            file.path.hasSuffix(".swift") ? "\\b\(name)(?:: [^=({]+)? (?:=|\\{) (.+)" : "\\b\(name)(?: =)? (.+)"
        guard let pattern = try? Regex(declaration) else { return nil }
        for (_, text) in file.code where text.contains(name) {
            guard let match = text.firstMatch(of: pattern), let value = match.output[1].substring,
                let expression = Limit.first(in: value)
            else { continue }
            return expression
        }
        return nil
    }

    /// The limits of the page's subjects: a new one belongs on the page, or to the inner ones.
    @Test("No limit is missing")
    func complete() {
        let folders = [
            "WatchdogCapture/Capture", "WatchdogCapture/Tree", "WatchdogCapture/Trail", "WatchdogCapture/Stack",
            "WatchdogCapture/Symbolicator", "WatchdogLinux/Examining/", "WatchdogLaunch/Reports/",
            "WatchdogLaunch/Evidence/", "WatchdogLaunch/Incidents/", "WatchdogLaunch/Hooks/",
            "WatchdogLaunch/Host/", "WatchdogLaunch/Sampling/", "WatchdogControl/Server/",
            "WatchdogMetrics/", "WatchdogLinux/Answering/", "WatchdogReport/Coding/ReportLimits",
            "WatchdogPolicy/Incident/CaptureWait", "WatchdogPolicy/Incident/Hang",
        ]
        let pattern =
            #/^\s{4,8}(?:\w+ )?(?:static )?(?:let|var) (\w+)(?:: [\w.]+)? (?:=|\{) (?:Duration|StuckWaits\.Limits)?[.(\d].*\d/#
        var found: Set<Constant> = []
        for file in Self.sources where folders.contains(where: { file.place?.hasPrefix($0) == true }) {
            let name = file.path.split(separator: "/").last.map(String.init) ?? ""
            for line in file.lines where Self.isLimit(line, in: name) {
                guard let match = line.firstMatch(of: pattern) else { continue }
                found.insert(Constant(file: name, name: String(match.output.1)))
            }
        }
        #expect(found.count > 60, "the search finds nothing anymore")
        let told = Set(Self.rows.flatMap(\.constants))
        let missing = found.subtracting(told).map { "\($0.file): \($0.name)" }.filter { !Self.inner.contains($0) }
        #expect(missing.sorted() == [])
    }

    private static func isLimit(_ line: Substring, in file: String) -> Bool {
        line.contains("static ") || file.contains("Limit")
            || ["TreeSnapshot.swift", "Symbolicator.swift", "TextServer.swift"].contains(file)
    }

    /// Constants without a limit that anybody could notice.
    private static let inner: Set = [
        "BytePen.swift: mostDigits", "BytePen.swift: size", "ControlLimits.swift: defaultLogLines",
        "ControlServer+Calls.swift: mostNames",
        "KeptCounts.swift: largest",
        "MetricsText.swift: size", "Symbolicator.swift: target", "TextServing.swift: arrivals",
        "TextServing.swift: pause",
        // The permitted content of a damaged answer.
        "CapturedProcess+Answer.swift: imageLimit", "CapturedProcess+Answer.swift: noteLimit",
        "CapturedProcess+Answer.swift: goroutineLimit",
        "Examination+Answering.swift: longest", "Examination+Answering.swift: longestValue",
        "Symbolicator.swift: message",
        // The kernel's time for a kill.
        "Copiers.swift: burst", "Copiers.swift: grace", "Examiner.swift: grace",
        // How long idle processes are kept.
        "Examiner.swift: rest", "ThreadEvidence.swift: burst",
        // Rates of rare actions, not omissions.
        "HangWatch.swift: launchSamples", "HangWatch.swift: useRarity", "IdleMemory.swift: delay",
        "LaunchIncidents.swift: interval", "IdleMemory.swift: leastChanges", "MemoryKillNotes.swift: freshness",
        "MemoryKillNotes.swift: interval",
        // The same as the journal's patience, without a journal.
        "PostMortem.swift: briefPatience",
    ]
}

/// Numbers in the notation of the code and of the page.
private enum Limit {
    /// The expression at the beginning of some code, up to the first other token.
    static func first(in code: Substring) -> String? {
        var depth = 0
        var end = code.startIndex
        for index in code.indices {
            let character = code[index]
            if "([".contains(character) { depth += 1 }
            if ")]".contains(character) { depth -= 1 }
            if depth < 0 || depth == 0 && ",;}".contains(character) { break }
            if code[index...].hasPrefix(" /*") { break }
            end = code.index(after: index)
        }
        let text = code[..<end].trimmed
        return text.contains { $0.isNumber } ? text : nil
    }

    /// The expression in the page's words; nil if it has a different form.
    static func words(of expression: String) -> [String]? {
        if let match = expression.firstMatch(of: #/Limits\(app: (\d+), user: (\d+), all: (\d+)\)/#) {
            return ["\(match.output.1) of an app, \(match.output.2) of a user, \(match.output.3) in all"]
        }
        let durations = expression.matches(of: #/\.(seconds|milliseconds)\(([\d_* ]+)\)/#)
        if !durations.isEmpty {
            return durations.compactMap { match in
                product(match.output.2).map { duration($0 * (match.output.1 == "seconds" ? 1_000 : 1)) }
            }
        }
        if let match = expression.wholeMatch(of: #/\(*(?:size_t\))?(\d+)(?:ULL)? << (\d+)\)*/#) {
            guard let number = Int(match.output.1), let shift = Int(match.output.2) else { return nil }
            let units = [10: "KiB", 20: "MiB", 30: "GiB"]
            return [number == 1 && shift == 16 ? grouped(1 << 16) : units[shift].map { "\(number) \($0)" } ?? "?"]
        }
        guard let number = product(expression[...]) else { return nil }
        // In C, budgets are nanoseconds.
        return [number >= 1_000_000 ? duration(number / 1_000_000) : grouped(number)]
    }

    private static func product(_ text: Substring) -> Int? {
        let factors = text.split(separator: "*").map { Int($0.trimmed.replacing("_", with: "")) }
        return factors.contains(nil) ? nil : factors.compactMap(\.self).reduce(1, *)
    }

    private static func duration(_ milliseconds: Int) -> String {
        for (unit, length, least) in [
            ("days", 86_400_000, 2), ("h", 3_600_000, 2), ("min", 60_000, 2), ("s", 1_000, 1),
        ] where milliseconds % length == 0 && milliseconds / length >= least {
            return "\(milliseconds / length) \(unit)"
        }
        return "\(milliseconds) ms"
    }

    private static func grouped(_ number: Int) -> String {
        var text = ""
        for (place, digit) in String(number).reversed().enumerated() {
            if place > 0, place % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
