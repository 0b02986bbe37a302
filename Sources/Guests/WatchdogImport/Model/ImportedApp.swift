// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogConfiguration

/// An app file made from the file of another service manager.
public struct ImportedApp: Hashable, Sendable {
    /// The app's name.
    public let name: AppName
    /// The contents of its file.
    public internal(set) var text: String
    /// The parsed ``text``, which has a configuration, and possibly warnings.
    public let definition: AppDefinition
    /// The setting that would detect hangs of the app; nil if the file already has hang detection.
    public internal(set) var probeAdvice: String?

    init(name: AppName, text: String, definition: AppDefinition) {
        (self.name, self.text, self.definition) = (name, text, definition)
    }

    /// The name of its file: `NAME.app`.
    public var fileName: String { name.description + AppName.fileSuffix }
}

extension ImportedApp {
    /// The app with a comment in its file if the file has no hang detection, which few service managers have.
    ///
    /// The suggested probe is commented out, because it is a guess, and a wrong probe would kill the app.
    var advised: ImportedApp {
        guard let configuration = definition.configuration, !configuration.saysWhatWatches else { return self }
        // The unit has WatchdogSec=.
        let pushes = configuration.watchdog.readiness == .notify && text.contains("\nUpdate=")
        guard !pushes else { return self }
        var app = self
        app.probeAdvice = configuration.probeAdvice
        let heading = "[\(ConfigurationSection.watchdog.rawValue)]\n"
        let target = ProbeAdvice.target(configuration.program.command.arguments, configuration.watchdog.readiness)
        let comment =
            "# Only a program that uses a client library or sends WATCHDOG=1 is watched for hangs. A probe watches any:\n"
            + (target.map { "#Probe=\($0)\n" } ?? "#Probe=tcp:ADDR\n")
        if let range = text.firstRange(of: "\n" + heading) {
            app.text.insert(contentsOf: comment, at: range.upperBound)
        } else {
            app.text += "\n" + heading + comment
        }
        return app
    }

    /// The advice for users; nil if the file has hang detection.
    public var hangAdvice: String? {
        probeAdvice.map { "\(fileName): nothing watches \(name) for hangs; set \($0)" }
    }
}

/// The result of importing one or more files.
public struct ImportResult: Hashable, Sendable {
    /// The apps, in the order of the files.
    public internal(set) var apps: [ImportedApp] = []
    /// The notes about changed and dropped lines, by file and line.
    public internal(set) var notes: [ImportNote] = []

    /// Creates an empty result.
    public init() {}

    /// Adds the result for another file.
    ///
    /// - Throws: ``ImportError`` if both have an app of the same name.
    public mutating func add(_ other: ImportResult, from path: String) throws(ImportError) {
        for app in other.apps where apps.contains(where: { $0.name == app.name }) {
            throw ImportError(
                ImportPlace(file: path), "there is already an app \(app.name); import it alone, with --name NAME")
        }
        apps += other.apps
        notes = (notes + other.notes).sorted
    }

    /// A summary in one line: "1 app, 2 settings changed, 5 dropped".
    public var summary: String {
        func count(_ kind: ImportNote.Kind) -> Int { notes.count { $0.kind == kind } }
        let parts = [
            apps.count.counted("app"),
            count(.changed) > 0 ? "\(count(.changed)) changed" : nil,
            count(.dropped) > 0 ? "\(count(.dropped)) dropped" : nil,
            count(.toDo) > 0 ? "\(count(.toDo)) to do" : nil,
            count(.skipped) > 0 ? "\(count(.skipped)) skipped" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}
