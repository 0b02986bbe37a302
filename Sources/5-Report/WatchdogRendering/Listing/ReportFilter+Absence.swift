// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

extension ReportFilter {
    /// Returns the text to show instead of an empty list.
    ///
    /// `No report matches --app pywep (12 reports do not); did you mean pyweb?`
    ///
    /// - Parameters:
    ///   - host: the only host whose reports count; nil for all.
    ///   - since: how ``since`` was written.
    ///   - all: the reports of all hosts without a filter.
    ///   - isCut: whether there are more.
    public func absence(host: String?, since: String?, among all: [StoredReport], isCut: Bool) -> String {
        let given = [("--host", host), ("--app", app), ("--event", event), ("--verdict", verdict), ("--since", since)]
            .compactMap { option, value in value.map { "\(option) \(Self.quoted($0))" } }
        guard !all.isEmpty, !given.isEmpty else { return ReportListing.text([]) }
        let others =
            isCut ? "more than \(all.count) reports do" : all.count.counted("report does", "reports do")
        let question = suggestion(host: host, among: all).map { "; did you mean \(Self.quoted($0))?" }
        return "No report matches \(given.joined(separator: " ")) (\(others) not)\(question ?? "")\n"
    }

    /// The name in the reports that a misspelled host, app or verdict was probably meant to be.
    private func suggestion(host: String?, among all: [StoredReport]) -> String? {
        let metadata = all.compactMap(\.metadata)
        for (name, names) in [(host, all.compactMap(\.host)), (app, metadata.map(\.appName))] {
            guard let name, !names.contains(where: { Wildcard.selects($0, by: name) }) else { continue }
            if let near = Similarity.nearest(to: name, among: names) { return near }
        }
        guard let word = verdict?.lowercased(), Verdict.Kind(rawValue: word) == nil else { return nil }
        let verdicts = metadata.compactMap { $0.linux?.verdict.lowercased() }
        guard !verdicts.contains(where: { $0.contains(word) }) else { return nil }
        return Similarity.nearest(to: word, among: verdicts.flatMap { $0.split(separator: " ").map(String.init) })
    }

    /// Safe for a terminal, and as a shell takes it.
    private static func quoted(_ text: String) -> String {
        let line = text.singleLine(limit: 64)
        return line.isEmpty || line.contains(" ") ? "\"\(line)\"" : line
    }
}
