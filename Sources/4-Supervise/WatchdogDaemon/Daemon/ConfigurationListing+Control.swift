// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
package import WatchdogControl
import WatchdogLaunch

extension ConfigurationListing {
    /// All errors and warnings, in the order of the files.
    var allDiagnostics: [ConfigurationDiagnostic] { apps.flatMap(\.diagnostics) + diagnostics }

    /// The apps that can be launched; templates are not included.
    var valid: [(configuration: AppConfiguration, file: String)] {
        apps.compactMap { app in
            guard !app.name.isTemplate, let configuration = app.configuration else { return nil }
            return (configuration, app.files[0])
        }
    }

    /// The effective settings of these apps, by name.
    package var settings: [String: [String]] {
        Dictionary(apps.map { ($0.name.description, $0.settings) }, uniquingKeysWith: { first, _ in first })
    }

    /// The files with errors.
    package var invalidFiles: [InvalidFile] {
        apps.filter { $0.configuration == nil }.map { app in
            InvalidFile(
                name: app.name.description, file: app.files[0],
                diagnostics: app.diagnostics.map(ControlDiagnostic.init))
        }
            + diagnostics.filter { $0.severity == .error }.map {
                InvalidFile(name: "", file: $0.file, diagnostics: [ControlDiagnostic($0)])
            }
    }
}

extension ControlDiagnostic {
    init(_ diagnostic: ConfigurationDiagnostic) {
        self.init(
            diagnostic.severity == .error ? .error : .warning,
            file: diagnostic.file,
            line: diagnostic.line,
            column: diagnostic.column,
            message: diagnostic.message,
            suggestion: diagnostic.suggestion
        )
    }
}

extension LogLevel {
    /// The level of a line about a configuration.
    init(_ diagnostic: ControlDiagnostic) { self = diagnostic.severity == .error ? .error : .warning }
}
