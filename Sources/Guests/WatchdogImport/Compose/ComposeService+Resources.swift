// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

extension ComposeService {
    // MARK: - Restarts

    mutating func putRestart(_ rules: YAMLNode?) {
        let restart = take("restart")
        if rules != nil, let restart {
            draft.note(
                .dropped, at: place(restart),
                "\(Printable.setting("restart", restart.scalar ?? "")): deploy.restart_policy overrides it")
        }
        let condition = rules?["condition"]
        let value: String
        if let rules {
            value = condition?.scalar ?? "any"
            noteRest(
                of: rules, except: ["condition", "max_attempts", "window", "delay"], in: "deploy.restart_policy")
        } else if let text = restart?.scalar {
            value = text
        } else {
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
        if let most = parts.dropFirst().first.map(String.init) ?? rules?["max_attempts"]?.scalar, most != "0" {
            if draft.carry(.limit, most, of: "restart: \(value.singleLine(limit: 40))", at: at) {
                draft.set(.atLimit, "stop")
            }
        }
        for (key, setting) in [("window", ConfigurationKey.limitInterval), ("delay", .delay)] {
            guard let node = rules?[key], let text = node.scalar else { continue }
            let span = ComposeValue.duration(text).map(TimeSpan.format) ?? text
            draft.carry(setting, span, of: Printable.setting(key, text), at: place(node))
        }
    }

    // MARK: - Resources

    mutating func putDeploy() {
        let deploy = take("deploy")
        _ = entries(deploy, of: "deploy")
        putRestart(deploy?["restart_policy"])
        let resources = deploy?["resources"]
        let limits = resources?["limits"]
        var known: Set = ["restart_policy", "resources"]
        if deploy?["replicas"]?.scalar == "1" { known.insert("replicas") }
        noteRest(of: deploy, except: known, in: "deploy")
        noteRest(of: resources, except: ["limits"], in: "deploy.resources")
        noteRest(of: limits, except: ["memory", "cpus", "pids"], in: "deploy.resources.limits")
        putLimits(limits)
    }

    private mutating func putLimits(_ limits: YAMLNode?) {
        let (memory, share, count) = (take("mem_limit"), take("cpus"), take("pids_limit"))
        for (name, node, other) in [
            ("mem_limit", memory, limits?["memory"]), ("cpus", share, limits?["cpus"]),
            ("pids_limit", count, limits?["pids"]),
        ] {
            guard let node, other != nil else { continue }
            draft.note(.dropped, at: place(node), "\(name): deploy.resources.limits sets it, too")
        }
        if let memory = limits?["memory"] ?? memory, let text = text(memory, of: "memory"), text != "0" {
            draft.carry(
                .memoryMax, ComposeValue.size(text) ?? text, of: "memory: \(text.singleLine(limit: 20))",
                at: place(memory))
        }
        if let share = limits?["cpus"] ?? share, let text = text(share, of: "cpus"), Double(text) != 0 {
            // More CPUs than any machine has.
            let number = Double(text).flatMap { (0...1e6).contains($0) ? $0 : nil }
            let percent = number.map { "\(Int(($0 * 100).rounded()))%" } ?? text
            draft.carry(.cpuQuota, percent, of: "cpus: \(text.singleLine(limit: 20))", at: place(share))
        }
        if let count = limits?["pids"] ?? count, let text = text(count, of: "pids"), !["-1", "0"].contains(text) {
            draft.carry(.tasksMax, text, of: "pids: \(text.singleLine(limit: 20))", at: place(count))
        }
    }

    mutating func putUlimits() {
        for entry in entries(take("ulimits"), of: "ulimits") {
            let name = entry.key.singleLine(limit: 20)
            let value = entry.value
            guard !value.isUnresolved else { continue }
            guard let key = ConfigurationKey(rawValue: "Limit" + entry.key.uppercased()), key.limitedResource != nil
            else {
                draft.note(.dropped, at: place(value), "ulimits: there is no limit \(name)")
                continue
            }
            let both = [value["soft"], value["hard"]].compactMap { $0?.scalar }
            // Compose uses the units of setrlimit(2).
            let unit = ["cpu": "s", "rttime": "us"][entry.key] ?? ""
            let texts = (value.scalar.map { [$0] } ?? both).flatMap { $0.split(separator: ":") }
            let text = texts.map { $0 == "-1" ? "infinity" : "\($0)\(unit)" }.joined(separator: ":")
            draft.carry(key, text, of: "ulimits: \(name)", at: place(value))
            noteRest(of: value, except: ["soft", "hard"], in: "ulimits.\(name)")
        }
    }
}
