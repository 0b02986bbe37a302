// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Converts the services of a compose file to apps: compose-spec.
struct ComposeImport {
    /// Imports a file.
    ///
    /// - Parameter reading: reads another file; nil if it does not exist.
    static func result(
        file: ConfigurationFile, folder: String, specifiers: Specifiers,
        reading: (String) throws(ImportError) -> ConfigurationFile?
    ) throws(ImportError) -> ImportResult {
        let root = try YAMLReader.read(file)
        let whole = ImportPlace(file: file.path)
        guard root.entries != nil else {
            throw ImportError(
                ImportPlace(file: file.path, line: root.line), "a compose file is a mapping with \"services:\"")
        }
        guard let services = root["services"], let entries = services.entries else {
            throw ImportError(whole, "there is no \"services:\" with services in the file")
        }
        var result = ImportResult()
        var variables = ComposeVariables()
        let dot = try reading("\(folder)/.env")
        // Ignore an unused file of variables, which may have any content.
        if let dot, file.contents.contains(UInt8(ascii: "$")) || root.takesVariables {
            variables.values = try DotEnvFile(dot).values
        }
        try noteOverride(of: file, in: folder, reading, &result)
        try noteRest(of: root, in: file.path, &result)
        guard entries.count <= 1_000 else { throw ImportError(whole, "the file has more than 1,000 services") }
        for entry in entries {
            let place = ImportPlace(file: file.path, line: entry.line)
            guard let name = try? AppName(entry.key) else {
                throw ImportError(place, "\(Printable.quoted(entry.key)) cannot be an app's name")
            }
            guard entry.value.entries != nil else {
                throw ImportError(place, "the service \(Printable.quoted(entry.key)) is not a mapping")
            }
            let draft = AppDraft(name: name, origin: file.path, specifiers: specifiers)
            var service = ComposeService(
                entry.value, place: place, folder: folder, variables: variables, draft: draft)
            try service.read(reading)
            result.apps.append(try service.draft.finished())
            result.notes += service.draft.notes
        }
        return result
    }

    /// Notes an override file, which compose merges into a file with a default name.
    private static func noteOverride(
        of file: ConfigurationFile, in folder: String, _ reading: (String) throws(ImportError) -> ConfigurationFile?,
        _ result: inout ImportResult
    ) throws(ImportError) {
        let name = file.path.split(separator: "/").last.map(String.init) ?? ""
        guard let dot = name.lastIndex(of: "."), usualNames.contains(String(name[..<dot])) else { return }
        for suffix in [".yml", ".yaml"] {
            let other = "\(name[..<dot]).override\(suffix)"
            guard try reading("\(folder)/\(other)") != nil else { continue }
            let message = "compose reads \(other) on top of this file; import what 'docker compose config' prints"
            result.notes.append(ImportNote(kind: .changed, place: ImportPlace(file: file.path), message: message))
        }
    }

    private static let usualNames: Set<String> = ["compose", "docker-compose"]

    /// Notes the sections other than the services.
    private static func noteRest(of root: YAMLNode, in path: String, _ result: inout ImportResult) throws(ImportError) {
        let reasons = [
            "version": "it means nothing to compose either", "name": "it is only a part of the containers' names",
            "networks": "the programs are in the machine's own network",
            "volumes": "the programs see the machine's own files",
            "secrets": "the programs see the machine's own files",
            "configs": "the programs see the machine's own files",
        ]
        for entry in root.entries ?? [] where entry.key != "services" && !entry.key.hasPrefix("x-") {
            let place = ImportPlace(file: path, line: entry.line)
            guard entry.key != "include" else {
                throw ImportError(place, "include is not supported; import what 'docker compose config' prints")
            }
            let message = "\(entry.key.singleLine(limit: 40)): \(reasons[entry.key] ?? "it has no counterpart")"
            result.notes.append(ImportNote(kind: .dropped, place: place, message: message))
        }
    }
}

extension YAMLNode {
    /// Whether a service takes variables from outside of the file without a dollar sign.
    fileprivate var takesVariables: Bool {
        self["services"]?.entries?.contains { service in
            if service.value["env_file"] != nil { return true }
            let environment = service.value["environment"]
            return environment?.items?.contains { $0.scalar?.contains("=") == false } == true
                || environment?.entries?.contains { $0.value.value == .null } == true
        } ?? false
    }
}
