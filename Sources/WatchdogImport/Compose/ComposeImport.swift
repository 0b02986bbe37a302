// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Makes apps of the services of a compose file: compose-spec.
struct ComposeImport {
    static func result(
        file: ConfigurationFile, folder: String, specifiers: Specifiers
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
            var service = ComposeService(entry.value, place: place, folder: folder, draft: draft)
            try service.read()
            result.apps.append(try service.draft.finished())
            result.notes += service.draft.notes
        }
        return result
    }

    /// Names what is beside the services.
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
            let message = "\(Printable.text(entry.key, limit: 40)): \(reasons[entry.key] ?? "it has no counterpart")"
            result.notes.append(ImportNote(kind: .dropped, place: place, message: message))
        }
    }
}
