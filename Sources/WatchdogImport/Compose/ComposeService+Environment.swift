// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

extension ComposeService {
    mutating func putEnvironment() {
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
                of: "env_file: \(Printable.text(path, limit: 40))", at: place(item))
            noteRest(of: item, except: ["path", "required"], in: "env_file")
        }
    }

    private mutating func putVariable(_ name: String, _ node: YAMLNode) {
        let shown = Printable.text(name, limit: 40)
        guard node.value != .null else {
            return draft.note(.dropped, at: place(node), "\(shown): compose takes its value from its own environment")
        }
        guard var value = text(node, of: shown) else { return }
        if node.isPlain {
            if ["true", "false"].contains(value.lowercased()) { value = value.lowercased() }
            if ComposeValue.isRewritten(value) {
                draft.note(
                    .changed, at: place(node),
                    "\(shown): compose reads \(Printable.text(value, limit: 40)) as a number, and may write it differently"
                )
            }
        }
        draft.carry(.environment, UnitText.variable(name, value), of: shown, at: place(node))
    }
}
