// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// One service of a compose file.
struct ComposeService {
    private let node: YAMLNode
    private let whole: ImportPlace
    private let folder: String
    var draft: AppDraft
    private var handled: Set<String> = []

    init(_ node: YAMLNode, place: ImportPlace, folder: String, draft: AppDraft) {
        self.node = node
        self.draft = draft
        whole = place
        self.folder = folder
    }

    func place(_ node: YAMLNode) -> ImportPlace { ImportPlace(file: whole.file, line: node.line) }

    mutating func read() throws(ImportError) {
        try putCommand()
        putProcess()
        putEnvironment()
        putRestart()
        putResources()
        if let check = take("healthcheck") { ComposeHealthCheck(check, place(check)).put(into: &draft, self) }
        if let grace = take("stop_grace_period"), let time = grace.scalar {
            draft.carry(.terminate, time, of: Printable.setting("stop_grace_period", time), at: place(grace))
        } else {
            // The default: compose-spec, "stop_grace_period".
            draft.set(.terminate, "10s")
        }
        for entry in node.entries ?? [] where !handled.contains(entry.key) && !entry.key.hasPrefix("x-") {
            let reason = Self.reasons[entry.key] ?? "has no counterpart for a program outside of a container"
            draft.note(
                .dropped, at: ImportPlace(file: whole.file, line: entry.line),
                "\(Printable.text(entry.key, limit: 40)): \(reason)")
        }
    }

    private static let reasons = [
        "image": "the program comes from the machine, not from an image",
        "build": "the program comes from the machine, not from an image",
        "ports": "the program listens on the machine's own ports",
        "volumes": "the program sees the machine's own files",
        "depends_on": "apps do not depend on each other",
        "networks": "the program is in the machine's own network",
        "logging": "the output goes to the journal",
        "stop_signal": "an app ends at SIGTERM",
    ]

    /// The value of a key, which is then handled; nil if it is absent or null.
    private mutating func take(_ key: String) -> YAMLNode? {
        handled.insert(key)
        guard let value = node[key], value.value != .null else { return nil }
        return value
    }

    /// The text with compose's variables replaced; nil if one is unknown, which is noted.
    mutating func text(_ node: YAMLNode, of key: String) -> String? {
        guard let text = node.scalar else {
            draft.note(.dropped, at: place(node), "\(key): a text is expected here")
            return nil
        }
        do throws(ComposeVariables.Unknown) {
            let replaced = try ComposeVariables.replaced(text)
            if text.contains("${") {
                draft.note(.changed, at: place(node), "\(key): variables of compose became their defaults")
            }
            return replaced
        } catch {
            draft.note(.dropped, at: place(node), "\(key): \(error.message)")
            return nil
        }
    }

    /// A list of words, or a text that a shell would split.
    private mutating func words(_ node: YAMLNode, of key: String) throws(ImportError) -> [String] {
        func replaced(_ node: YAMLNode) throws(ImportError) -> String {
            do throws(ComposeVariables.Unknown) {
                return try ComposeVariables.replaced(node.scalar ?? "")
            } catch {
                throw ImportError(place(node), "\(key): \(error.message)")
            }
        }
        if let items = node.items {
            var words: [String] = []
            for item in items { words.append(try replaced(item)) }
            return words
        }
        let text = try replaced(node)
        do throws(ShellWords.Invalid) {
            return try ShellWords.split(text)
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
            // A name that the parser accepts stands for the command of the image.
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
        if let node = take("user"), let user = text(node, of: "user") {
            let parts = user.split(separator: ":", maxSplits: 1)
            if let first = parts.first {
                draft.carry(.user, String(first), of: "user: \(Printable.text(user, limit: 40))", at: place(node))
            }
            if parts.count > 1 {
                draft.carry(.group, String(parts[1]), of: "user: \(Printable.text(user, limit: 40))", at: place(node))
            }
        }
        if let node = take("working_dir"), let path = text(node, of: "working_dir") {
            draft.carry(
                .workingDirectory, UnitText.escapedSpecifiers(path), of: Printable.setting("working_dir", path),
                at: place(node))
        }
        if let node = take("oom_score_adj"), let value = text(node, of: "oom_score_adj") {
            draft.carry(
                .oomScoreAdjust, value, of: "oom_score_adj: \(Printable.text(value, limit: 20))", at: place(node))
        }
        if take("profiles") != nil { draft.set(.enabled, "no") }
        for option in take("security_opt")?.items ?? [] {
            if ["no-new-privileges:true", "no-new-privileges"].contains(option.scalar ?? "") {
                draft.set(.noNewPrivileges, "yes")
            } else {
                draft.note(.dropped, at: place(option), "security_opt: let systemd confine apps")
            }
        }
    }

    // MARK: - The environment

    private mutating func putEnvironment() {
        if let node = take("environment") {
            for entry in node.entries ?? [] { putVariable(entry.key, entry.value) }
            for item in node.items ?? [] {
                let text = item.scalar ?? ""
                let name = text.prefix { $0 != "=" }
                let value = text.dropFirst(name.count)
                let node: YAMLNode.Value = value.isEmpty ? .null : .scalar(String(value.dropFirst()))
                putVariable(String(name), YAMLNode(value: node, line: item.line))
            }
        }
        if let node = take("env_file") {
            if draft.has(.environment) {
                draft.note(
                    .changed, at: place(node),
                    "env_file: in an app file it overrides environment; in compose, environment overrides it")
            }
            for item in node.items ?? [node] {
                guard let path = text(item["path"] ?? item, of: "env_file") else { continue }
                let absolute = path.hasPrefix("/") ? path : "\(folder)/\(path.dropping("./") ?? path[...])"
                let isOptional = item["required"]?.scalar == "false"
                draft.carry(
                    .environmentFile, (isOptional ? "-" : "") + UnitText.escapedSpecifiers(absolute),
                    of: "env_file: \(Printable.text(path, limit: 40))", at: place(item))
            }
        }
    }

    private mutating func putVariable(_ name: String, _ node: YAMLNode) {
        let shown = Printable.text(name, limit: 40)
        guard node.value != .null else {
            return draft.note(.dropped, at: place(node), "\(shown): compose takes its value from its own environment")
        }
        guard let value = text(node, of: shown) else { return }
        draft.carry(.environment, UnitText.variable(name, value), of: shown, at: place(node))
    }

    // MARK: - Restarts

    private mutating func putRestart() {
        let restart = take("restart")
        let rules = node["deploy"]?["restart_policy"]
        guard let value = rules?["condition"]?.scalar ?? rules.map({ _ in "any" }) ?? restart?.scalar else {
            draft.set(.policy, "never")
            return draft.note(.changed, at: whole, "Policy=never, the default of compose; consider on-failure")
        }
        let at = (rules ?? restart).map(place) ?? whole
        let parts = value.split(separator: ":")
        switch parts.first ?? "" {
        case "no", "none", "false": draft.set(.policy, "never")
        case "always", "unless-stopped", "any": draft.set(.policy, "always")
        case "on-failure": draft.set(.policy, "on-failure")
        default:
            draft.set(.policy, "on-failure")
            draft.note(.changed, at: at, "restart: \(Printable.quoted(value)) is not a policy; it became on-failure")
        }
        if let most = parts.dropFirst().first.map(String.init) ?? rules?["max_attempts"]?.scalar {
            guard draft.carry(.limit, most, of: "restart: \(Printable.text(value, limit: 40))", at: at) else { return }
            draft.set(.atLimit, "stop")
        }
        if let window = rules?["window"]?.scalar {
            draft.carry(.limitInterval, window, of: Printable.setting("window", window), at: at)
        }
        if let delay = rules?["delay"]?.scalar {
            draft.carry(.delay, delay, of: Printable.setting("delay", delay), at: at)
        }
    }

    // MARK: - Resources

    private mutating func putResources() {
        let limits = take("deploy")?["resources"]?["limits"]
        let memory = limits?["memory"] ?? take("mem_limit")
        if let memory, let text = text(memory, of: "memory") {
            // `512m`, `512mb`, `1gib`: powers of 1024.
            var size = text.uppercased()
            for tail in ["IB", "B"] where size.hasSuffix(tail) && size.count > tail.count {
                size.removeLast(tail.count)
            }
            draft.carry(.memoryMax, size, of: "memory: \(Printable.text(text, limit: 20))", at: place(memory))
        }
        if let share = limits?["cpus"] ?? take("cpus"), let text = text(share, of: "cpus") {
            let percent = Double(text).map { "\(Int(($0 * 100).rounded()))%" } ?? text
            draft.carry(.cpuQuota, percent, of: "cpus: \(Printable.text(text, limit: 20))", at: place(share))
        }
        if let count = limits?["pids"] ?? take("pids_limit"), let text = text(count, of: "pids"), text != "-1" {
            draft.carry(.tasksMax, text, of: "pids: \(Printable.text(text, limit: 20))", at: place(count))
        }
        for entry in take("ulimits")?.entries ?? [] {
            let name = Printable.text(entry.key, limit: 20)
            guard let key = ConfigurationKey(rawValue: "Limit" + entry.key.uppercased()) else {
                draft.note(.dropped, at: place(entry.value), "ulimits: there is no limit \(name)")
                continue
            }
            let soft = entry.value["soft"]?.scalar
            let values = [soft, entry.value["hard"]?.scalar].compactMap(\.self)
            let text = entry.value.scalar ?? values.joined(separator: ":")
            let value = text.split(separator: ":").map { $0 == "-1" ? "infinity" : $0 }.joined(separator: ":")
            draft.carry(key, value, of: "ulimits: \(name)", at: place(entry.value))
        }
    }
}
