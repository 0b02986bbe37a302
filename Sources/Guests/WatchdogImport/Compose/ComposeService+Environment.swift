// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

extension ComposeService {
    mutating func putEnvironment(
        _ reading: (String) throws(ImportError) -> ConfigurationFile?
    ) throws(ImportError) {
        if let node = take("environment") {
            let pairs = node.items == nil ? entries(node, of: "environment") : []
            for entry in pairs { putVariable(entry.key, entry.value) }
            for item in node.items ?? [] {
                guard let text = item.scalar else {
                    _ = self.text(item, of: "environment")
                    continue
                }
                let name = text.prefix { $0 != "=" }
                let value = text.dropFirst(name.count)
                let node: YAMLNode.Value = value.isEmpty ? .null : .scalar(String(value.dropFirst()))
                putVariable(String(name), YAMLNode(value: node, line: item.line))
            }
        }
        guard let node = take("env_file") else { return }
        if draft.has(.environment) {
            draft.note(
                .changed, at: place(node),
                "env_file: in an app file it overrides environment; in compose, environment overrides it")
        }
        for item in node.items ?? [node] {
            guard let path = text(item["path"] ?? item, of: "env_file") else { continue }
            let absolute = path.hasPrefix("/") ? path : "\(folder)/\(path.dropping("./") ?? path[...])"
            let isOptional = item["required"]?.scalar.flatMap(ComposeValue.boolean) == false
            draft.carry(
                .environmentFile, (isOptional ? "-" : "") + UnitText.escapedSpecifiers(absolute),
                of: "env_file: \(path.singleLine(limit: 40))", at: place(item))
            noteRest(of: item, except: ["path", "required"], in: "env_file")
            if item["format"]?.scalar != "raw", let file = try reading(absolute) {
                noteDifference(in: file, path.singleLine(limit: 40), at: place(item))
            }
        }
    }

    /// Notes the first variable of a file that compose parses differently from watchdogd; notes never contain values.
    private mutating func noteDifference(in file: ConfigurationFile, _ shown: String, at place: ImportPlace) {
        let ours = Dictionary(
            EnvironmentFile.read(file).variables.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        let todo = "write it as EnvironmentFile= wants it, without variables and comments in its line"
        do throws(ImportError) {
            let theirs = try DotEnvFile(file, outer: variables)
            let other = theirs.values.filter { ours[$0.key].map(ComposeVariables.Value.text) != $0.value }
                .min { theirs.lines[$0.key] ?? 0 < theirs.lines[$1.key] ?? 0 }?.key
            if let other {
                let name = other.singleLine(limit: 40)
                draft.note(
                    .toDo, at: place,
                    "env_file: \(shown):\(theirs.lines[other] ?? 0): compose reads another value for \(name); \(todo)")
            } else if let more = Set(ours.keys).subtracting(theirs.values.keys).min() {
                draft.note(
                    .toDo, at: place,
                    "env_file: \(shown): compose sets no \(more.singleLine(limit: 40)), and EnvironmentFile= does")
            }
        } catch {
            let line = error.place.line.map { ":\($0)" } ?? ""
            draft.note(.toDo, at: place, "env_file: \(shown)\(line): cannot tell what compose reads; \(todo)")
        }
    }

    private mutating func putVariable(_ name: String, _ node: YAMLNode) {
        let shown = name.singleLine(limit: 40)
        guard node.value != .null else {
            if case .text(let value) = variables.values[name] {
                draft.note(.changed, at: place(node), "\(shown): has its value in .env")
                draft.carry(.environment, UnitText.variable(name, value), of: shown, at: place(node))
                return
            }
            return draft.note(.dropped, at: place(node), "\(shown): compose takes its value from its own environment")
        }
        guard var value = text(node, of: shown) else { return }
        if node.isPlain {
            if ["true", "false"].contains(value.lowercased()) { value = value.lowercased() }
            if ComposeValue.isRewritten(value) {
                draft.note(
                    .changed, at: place(node),
                    "\(shown): compose reads \(value.singleLine(limit: 40)) as a number, and may write it differently"
                )
            }
        }
        draft.carry(.environment, UnitText.variable(name, value), of: shown, at: place(node))
    }
}
