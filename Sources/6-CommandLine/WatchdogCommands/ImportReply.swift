// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogConfiguration
import WatchdogControl
import WatchdogImport

/// What `watchdogd import --json` prints.
struct ImportReply: Encodable {
    private struct App: Encodable {
        let name: String
        let file: String
        let text: String
        let probeAdvice: String?
    }

    private struct Note: Encodable {
        let kind: String
        let file: String
        let line: Int?
        let message: String
    }

    private let apps: [App]
    private let notes: [Note]
    private let diagnostics: [ConfigurationDiagnostic]
    private let errors: [Note]

    init(_ result: ImportResult, _ failures: [ImportError]) {
        apps = result.apps.map {
            App(name: $0.name.description, file: $0.fileName, text: $0.text, probeAdvice: $0.probeAdvice)
        }
        notes = result.notes.map {
            Note(kind: $0.kind.rawValue, file: $0.place.file, line: $0.place.line, message: $0.message)
        }
        diagnostics = result.apps.flatMap(\.definition.diagnostics)
        errors = failures.map {
            Note(kind: "error", file: $0.place.file, line: $0.place.line, message: $0.message)
        }
    }

    /// The reply as one object, with a final newline.
    var json: String { ControlText.json(self) }
}
