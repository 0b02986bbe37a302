// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The result of a check, for people and for programs.
public struct CheckReport: Hashable, Sendable {
    /// All apps that were checked.
    public private(set) var apps: [AppDefinition] = []
    /// All diagnostics, in the order in which the files were given.
    public private(set) var diagnostics: [ConfigurationDiagnostic] = []

    /// Creates an empty report.
    public init() {}

    /// Adds the results for one place.
    public mutating func add(_ listing: ConfigurationListing) {
        apps += listing.apps
        diagnostics += listing.apps.flatMap(\.diagnostics) + listing.diagnostics
    }

    /// Adds the results for a directory; warns if there was nothing to check.
    public mutating func add(_ listing: ConfigurationListing, ofDirectory path: String) {
        add(listing)
        guard listing.apps.isEmpty, listing.diagnostics.isEmpty else { return }
        let message = "nothing was checked: there is no NAME.app in this directory"
        diagnostics.append(ConfigurationDiagnostic(.warning, file: path, message))
    }

    /// Adds further diagnostics without duplicates, because a diagnostic about a directory applies to every app in it.
    public mutating func add(_ more: [ConfigurationDiagnostic]) {
        for diagnostic in more where !diagnostics.contains(diagnostic) { diagnostics.append(diagnostic) }
    }

    /// Adds a file or directory that could not be read.
    public mutating func add(_ error: ConfigurationReadError, of path: String) {
        diagnostics.append(ConfigurationDiagnostic(.error, file: path, error.description))
    }

    /// The number of errors.
    public var errorCount: Int { diagnostics.count { $0.severity == .error } }
    /// The number of warnings.
    public var warningCount: Int { diagnostics.count - errorCount }
    /// True unless there is an error.
    public var isValid: Bool { errorCount == 0 }

    /// Every diagnostic with its source line, and a summary as the last line.
    public var text: String { text(in: TextStyle()) }

    /// The same in a style.
    public func text(in style: TextStyle) -> String {
        let meaning: TextStyle.Meaning? = errorCount > 0 ? .failure : warningCount > 0 ? .caution : .success
        return diagnostics.map { $0.text(in: style) }.joined() + style(summary, apps.isEmpty ? nil : meaning) + "\n"
    }

    private var summary: String {
        let checked = "\(apps.count.counted("app")) checked"
        let valid = apps.isEmpty ? nil : "all valid"
        let verdict = isValid ? valid : invalidCount > 0 ? "\(invalidCount) invalid" : nil
        let errors = errorCount > 0 ? errorCount.counted("error") : nil
        let warnings = warningCount > 0 ? warningCount.counted("warning") : nil
        let counts = [verdict, errors, warnings].compactMap(\.self)
        return checked + (counts.isEmpty ? "" : ": ") + counts.joined(separator: ", ")
    }

    private var invalidCount: Int { apps.count { $0.configuration == nil } }
}

extension CheckReport: Encodable {
    private enum CodingKeys: CodingKey {
        case valid
        case apps
        case errors
        case warnings
        case diagnostics
    }

    private struct App: Encodable {
        let name: String
        let files: [String]
        let valid: Bool
        let enabled: Bool?
    }

    /// Encodes one object: whether everything is valid, the apps, the numbers of errors and warnings, the diagnostics.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isValid, forKey: .valid)
        let apps = apps.map {
            App(
                name: $0.name.description, files: $0.files, valid: $0.configuration != nil,
                enabled: $0.configuration?.isEnabled)
        }
        try container.encode(apps, forKey: .apps)
        try container.encode(errorCount, forKey: .errors)
        try container.encode(warningCount, forKey: .warnings)
        try container.encode(diagnostics, forKey: .diagnostics)
    }
}
