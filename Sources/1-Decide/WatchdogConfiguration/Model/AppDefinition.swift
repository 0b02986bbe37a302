// SPDX-License-Identifier: Apache-2.0

/// What the files of an app say, valid or not.
public struct AppDefinition: Hashable, Sendable {
    /// The app's name.
    public let name: AppName
    /// The paths of its files, the main one first.
    public let files: [String]
    /// The configuration; nil if there is an error in it.
    public let configuration: AppConfiguration?
    /// All errors and warnings, by file and line.
    public let diagnostics: [ConfigurationDiagnostic]
    /// The settings in force as `Key=value`, by key; the parts of a list in their order.
    public let settings: [String]
    private let places: [ConfigurationKey: [ConfigurationPlace]]

    /// Reads the files of an app.
    ///
    /// - Parameters:
    ///   - name: the app's name.
    ///   - files: `NAME.app`, then its drop-ins in the order in which they apply.
    ///   - specifiers: the values of `%` specifiers.
    public init(name: AppName, files: [ConfigurationFile], specifiers: Specifiers) {
        precondition(!files.isEmpty, "an app has a file")
        var reader = AppReader(name: name, files: files, specifiers: specifiers)
        reader.read()
        self.name = name
        self.files = files.map(\.path)
        var configuration = reader.draft
        if let command = reader.command { configuration.program.command = command }
        configuration.watchdog.incidentHook?.files = self.files
        let isComplete = reader.command != nil || configuration.observed != nil
        self.configuration = reader.diagnostics.hasErrors || !isComplete ? nil : configuration
        diagnostics = reader.diagnostics.diagnostics
        settings = reader.settings.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { key, parts in
            parts.map { "\(key.rawValue)=\($0.value.string)" }
        }
        places = reader.settings.mapValues { settings in
            settings.map { reader.diagnostics.files[$0.position.file].place($0.position) }
        }
    }

    /// Creates an app with a file that cannot be read.
    init(name: AppName, unreadable diagnostics: [ConfigurationDiagnostic], files: [String]) {
        self.name = name
        self.files = files
        configuration = nil
        self.diagnostics = diagnostics
        settings = []
        places = [:]
    }

    /// The place of the setting in force, or of the last part of a list; nil for a default.
    public func place(of key: ConfigurationKey) -> ConfigurationPlace? {
        places[key]?.last
    }

    /// Creates a diagnostic that only the machine can show, such as for a limit that needs a cgroup controller.
    ///
    /// - Parameter index: the part of a list that it is about; nil for the last.
    public func diagnostic(
        _ severity: ConfigurationDiagnostic.Severity, about key: ConfigurationKey, at index: Int? = nil,
        _ message: String
    ) -> ConfigurationDiagnostic {
        let text = "\(key.rawValue): \(message)"
        let parts = places[key] ?? []
        guard let place = parts.dropFirst(index ?? parts.count).first ?? parts.last else {
            return ConfigurationDiagnostic(severity, file: files[0], text)
        }
        return ConfigurationDiagnostic(severity, at: place, text)
    }
}
