// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux

extension AppDefinition {
    /// Settings that are valid but have no effect on this machine.
    public var machineWarnings: [ConfigurationDiagnostic] {
        controllerWarnings + accountWarnings + pathWarnings + writerWarnings(below: "/etc/watchdogd/")
    }

    private var controllerWarnings: [ConfigurationDiagnostic] {
        guard let limits = configuration?.program.cgroupLimits, !limits.controllers.isEmpty else { return [] }
        let keys: [String: ConfigurationKey] = ["cpu": .cpuQuota, "memory": .memoryMax, "pids": .tasksMax]
        let present = CgroupParent.availableControllers
        return limits.controllers.filter { !present.contains($0) }.compactMap { controller in
            keys[controller].map {
                diagnostic(
                    .warning, about: $0, "no effect here: this machine's cgroup2 has no \(controller) controller")
            }
        }
    }

    private var accountWarnings: [ConfigurationDiagnostic] {
        guard let program = configuration?.program, program.user != nil || program.group != nil else { return [] }
        do throws(UserAccount.LookupError) {
            _ = try UserAccount.find(user: program.user ?? "\(geteuid())", group: program.group)
            return []
        } catch {
            return [diagnostic(.warning, about: program.user == nil ? .group : .user, "\(error) on this machine")]
        }
    }

    /// Warnings about others who may write to the configuration of root's daemon, and so decide what root runs.
    ///
    /// - Parameter root: the directory, with a slash, whose files and subdirectories are checked.
    func writerWarnings(below root: String) -> [ConfigurationDiagnostic] {
        var paths: [String] = []
        for file in files where file.hasPrefix(root) {
            let folder = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
            for path in [folder, file] where !paths.contains(path) { paths.append(path) }
        }
        return paths.compactMap { path in
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            let bits = String(status.st_mode & 0o7777, radix: 8)
            let isOpen = status.st_mode & 0o002 != 0 || (status.st_mode & 0o020 != 0 && status.st_gid != 0)
            guard isOpen || status.st_uid != 0 else { return nil }
            return ConfigurationDiagnostic(
                .warning, file: path,
                "users other than root can write to it (owner \(status.st_uid), group \(status.st_gid), mode 0\(bits)), "
                    + "and so decide what root runs")
        }
    }
}
