// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// One service of a compose file.
struct ComposeService {
    let node: YAMLNode
    let whole: ImportPlace
    let folder: String
    let variables: ComposeVariables
    var draft: AppDraft
    private var handled: Set<String> = []
    /// The number of bytes that variables' values have added to its texts.
    private var expanded = 0
    private static let maximumExpanded = 256 << 10

    init(
        _ node: YAMLNode, place: ImportPlace, folder: String, variables: ComposeVariables, draft: AppDraft
    ) {
        self.node = node
        self.variables = variables
        self.draft = draft
        whole = place
        self.folder = folder
    }

    func place(_ node: YAMLNode) -> ImportPlace { ImportPlace(file: whole.file, line: node.line) }

    /// - Parameter reading: reads another file; nil if it does not exist.
    mutating func read(_ reading: (String) throws(ImportError) -> ConfigurationFile?) throws(ImportError) {
        if let extends = node.entries?.first(where: { $0.key == "extends" }) {
            throw ImportError(
                ImportPlace(file: whole.file, line: extends.line),
                "extends is not supported; import what 'docker compose config' prints")
        }
        try putCommand()
        putProcess()
        try putEnvironment(reading)
        putDeploy()
        putUlimits()
        if let check = take("healthcheck") { ComposeHealthCheck(check, place(check)).put(into: &draft) }
        putStop()
        for entry in node.entries ?? [] where !handled.contains(entry.key) && !entry.key.hasPrefix("x-") {
            let reason = Self.reasons[entry.key] ?? "has no counterpart for a program outside of a container"
            draft.note(
                .dropped, at: ImportPlace(file: whole.file, line: entry.line),
                "\(entry.key.singleLine(limit: 40)): \(reason)")
        }
    }

    private mutating func putStop() {
        // The default: compose-spec, "stop_grace_period".
        draft.set(.terminate, "10s")
        if let grace = take("stop_grace_period"), let text = grace.scalar {
            let shown = Printable.setting("stop_grace_period", text)
            if let time = ComposeValue.duration(text), time > .zero {
                draft.carry(.terminate, TimeSpan.format(time), of: shown, at: place(grace))
            } else if ComposeValue.duration(text) != nil {
                draft.set(.terminate, "1ms")
                draft.note(.changed, at: place(grace), "\(shown) became Terminate=1ms: no allowance is zero")
            } else {
                draft.note(.dropped, at: place(grace), "\(shown) is not a time span such as 1m30s; the default is 10s")
            }
        }
        if let signal = take("stop_signal"), let text = signal.scalar,
            !["TERM", "SIGTERM", "15"].contains(text.uppercased())
        {
            draft.note(
                .dropped, at: place(signal),
                "\(Printable.setting("stop_signal", text)) has no counterpart: an app ends at SIGTERM")
        }
    }

    private static let reasons = [
        "image": "the program comes from the machine; what else an image sets (user, directory, variables) is unset",
        "build": "the program comes from the machine; what else an image sets (user, directory, variables) is unset",
        "ports": "the program listens on the machine's own ports",
        "volumes": "the program sees the machine's own files",
        "depends_on": "apps do not depend on each other",
        "networks": "the program is in the machine's own network",
        "logging": "the output goes to the journal",
        "scale": "one app runs one process; copies need app files of their own, as instances of a template",
        "links": "apps do not depend on each other, and have no names on the network",
        "secrets": "the program sees the machine's own files",
        "configs": "the program sees the machine's own files",
        "post_start": "no command runs after the start",
        "pre_stop": "no command runs before the end",
        "tmpfs": "the program sees the machine's own files",
        "read_only": "the program may write wherever its user may",
    ]

    /// Removes and returns the value of a key, with its variables replaced; nil if it is absent, null or unknown.
    mutating func take(_ key: String) -> YAMLNode? {
        handled.insert(key)
        guard let value = node[key], value.value != .null else { return nil }
        let replaced = replaced(value, of: key, label: key)
        return replaced.isUnresolved && !Self.commands.contains(key) ? nil : replaced
    }

    /// Keys whose values are required for an app.
    private static let commands: Set<String> = ["entrypoint", "command"]

    /// The value with compose's variables replaced in all its texts; unknown ones are noted.
    private mutating func replaced(_ node: YAMLNode, of key: String, label: String) -> YAMLNode {
        switch node.value {
        case .null, .unresolved: return node
        case .sequence(let items):
            var replaced: [YAMLNode] = []
            for item in items {
                let name = key == "environment" ? item.scalar.map { String($0.prefix { $0 != "=" }) } : nil
                replaced.append(self.replaced(item, of: key, label: name ?? label))
            }
            return YAMLNode(value: .sequence(replaced), line: node.line)
        case .mapping(let entries):
            var replaced: [YAMLNode.Entry] = []
            for entry in entries {
                let label = key == "environment" ? entry.key : label
                let value = self.replaced(entry.value, of: key, label: label)
                replaced.append(YAMLNode.Entry(key: entry.key, line: entry.line, value: value))
            }
            return YAMLNode(value: .mapping(replaced), line: node.line)
        case .scalar(let text):
            guard text.contains("$") else { return node }
            let shown = label.singleLine(limit: 40)
            do throws(ComposeVariables.Unknown) {
                let replaced = try variables.replaced(text)
                expanded += replaced.text.utf8.count
                guard expanded <= Self.maximumExpanded else {
                    throw ComposeVariables.Unknown(message: "the variables of the service are longer than 256 KiB")
                }
                let sources =
                    (replaced.hasDefaults ? ["defaults"] : []) + (replaced.hasValues ? ["values in .env"] : [])
                if !sources.isEmpty {
                    let source = sources.joined(separator: " and ")
                    draft.note(.changed, at: place(node), "\(shown): variables of compose became their \(source)")
                }
                return YAMLNode(value: .scalar(replaced.text), line: node.line)
            } catch {
                if !Self.commands.contains(key) {
                    // Without the service's user, the app would run as watchdogd's user.
                    let isUser = key == "user"
                    draft.note(
                        isUser ? .toDo : .dropped, at: place(node),
                        "\(shown): \(error.message)\(isUser ? "; set User=" : "")")
                }
                return YAMLNode(value: .unresolved(error.message), line: node.line)
            }
        }
    }

    /// The text of a value; nil for other values, which are noted.
    mutating func text(_ node: YAMLNode, of key: String) -> String? {
        if node.scalar == nil, !node.isUnresolved {
            draft.note(.dropped, at: place(node), "\(key): a text is expected here")
        }
        return node.scalar
    }

    /// The entries of a mapping; empty for other values, which are noted.
    mutating func entries(_ node: YAMLNode?, of key: String) -> [YAMLNode.Entry] {
        if let node, node.entries == nil { draft.note(.dropped, at: place(node), "\(key): a mapping is expected here") }
        return node?.entries ?? []
    }

    /// The items of a list; empty for other values, which are noted.
    mutating func items(_ node: YAMLNode?, of key: String) -> [YAMLNode] {
        if let node, node.items == nil { draft.note(.dropped, at: place(node), "\(key): a list is expected here") }
        return node?.items ?? []
    }

    /// Notes the entries of a mapping that were not imported.
    mutating func noteRest(of node: YAMLNode?, except known: Set<String>, in label: String) {
        for entry in node?.entries ?? [] where !known.contains(entry.key) && !entry.key.hasPrefix("x-") {
            draft.note(
                .dropped, at: ImportPlace(file: whole.file, line: entry.line),
                "\(label).\(entry.key.singleLine(limit: 40)) has no counterpart")
        }
    }

    /// A list of words, or a text that compose splits.
    private mutating func words(_ node: YAMLNode, of key: String) throws(ImportError) -> [String] {
        for part in node.items ?? [node] {
            if case .unresolved(let message) = part.value { throw ImportError(place(part), "\(key): \(message)") }
            guard part.scalar != nil else { throw ImportError(place(part), "\(key): a text is expected here") }
        }
        if let items = node.items { return items.compactMap(\.scalar) }
        do throws(ComposeWords.Invalid) {
            let words = try ComposeWords(node.scalar ?? "")
            if !words.rest.isEmpty {
                draft.note(
                    .changed, at: place(node),
                    "\(key): compose runs no shell, and reads the command only up to \(Printable.quoted(words.rest))")
            }
            return words.words
        } catch {
            throw ImportError(place(node), "\(key): \(error.message)")
        }
    }

    // MARK: - The program

    private mutating func putCommand() throws(ImportError) {
        let entrypoint = take("entrypoint")
        let command = take("command")
        var words: [String] = []
        if let entrypoint { words += try self.words(entrypoint, of: "entrypoint") }
        if let command { words += try self.words(command, of: "command") }
        let source = entrypoint ?? command
        let origin = source.map(place) ?? whole
        if words.isEmpty {
            // Use a name that the parser accepts as a placeholder for the image's command.
            draft.set(.execStart, draft.name.description)
            draft.note(.toDo, at: origin, "set ExecStart=: the file names no command; the image has it")
            return
        }
        if let fault = draft.put(.execStart, UnitText.command(words)) {
            throw ImportError(origin, "the command: \(fault)")
        }
        if entrypoint == nil {
            draft.note(
                .toDo, at: origin, "check ExecStart=: the image may put an entrypoint before this command")
        }
    }

    private mutating func putProcess() {
        putUser()
        if let node = take("working_dir"), let path = text(node, of: "working_dir") {
            draft.carry(
                .workingDirectory, UnitText.escapedSpecifiers(path), of: Printable.setting("working_dir", path),
                at: place(node))
        }
        if let node = take("oom_score_adj"), let value = text(node, of: "oom_score_adj") {
            draft.carry(
                .oomScoreAdjust, value, of: "oom_score_adj: \(value.singleLine(limit: 20))", at: place(node))
        }
        if let profiles = take("profiles"), profiles.items?.isEmpty == false {
            draft.set(.enabled, "no")
            draft.note(.changed, at: place(profiles), "profiles: Enabled=no: only a profile starts the service")
        }
        for option in items(take("security_opt"), of: "security_opt") {
            if option.isUnresolved { continue }
            if ["no-new-privileges:true", "no-new-privileges=true", "no-new-privileges"].contains(option.scalar ?? "") {
                draft.set(.noNewPrivileges, "yes")
            } else {
                draft.note(.dropped, at: place(option), "security_opt: let systemd confine apps")
            }
        }
    }

    private mutating func putUser() {
        if let groups = take("group_add"), groups.items?.isEmpty != true {
            let names = items(groups, of: "group_add").compactMap(\.scalar)
            draft.carry(
                .supplementaryGroups, names.joined(separator: " "), of: "group_add", at: place(groups))
        }
        guard let node = take("user"), let user = text(node, of: "user") else {
            guard self.node["user"] == nil || self.node["user"]?.value == .null else { return }
            return draft.note(
                .changed, at: whole,
                "user: the file sets none, so that the app runs as watchdogd's user; an image may set one")
        }
        let source = "user: \(user.singleLine(limit: 40))"
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        draft.carry(.user, parts[0], of: source, at: place(node))
        if parts.count > 1, !parts[1].isEmpty { draft.carry(.group, parts[1], of: source, at: place(node)) }
    }
}
