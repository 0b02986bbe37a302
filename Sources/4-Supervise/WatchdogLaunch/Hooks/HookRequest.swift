// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// The command of a hook, resolved before an incident.
package struct HookRequest: Sendable {
    private let request: SpawnRequest
    /// The time limit.
    package let limit: Duration

    /// A hook from the command line, which runs with watchdogd's rights.
    init(_ hook: IncidentHook) {
        request = Self.shell(hook.command, Environment.inherited.forApp(variables: [], user: nil))
        limit = hook.timeout
    }

    /// The hook of an app: it runs with watchdogd's rights if only root or watchdogd's user can write the app's files,
    /// otherwise with the app's.
    ///
    /// Blocks on file systems and the user database.
    ///
    /// - Throws: ``LaunchRefusal`` if the app's own user or environment cannot be found.
    init(_ hook: IncidentHook, of app: AppConfiguration, scope: DaemonPlaces.Scope) throws(LaunchRefusal) {
        let isTrusted = hook.files.allSatisfy(Self.isTrusted)
        // Few hooks run at a time: an untrusted app's file must not delay the hooks of others.
        limit = isTrusted ? hook.timeout : min(hook.timeout, IncidentHook.defaultTimeout)
        guard !isTrusted else {
            let environment = LaunchConfiguration.baseEnvironment(scope: scope)
            request = Self.shell(hook.command, environment.forApp(variables: [], user: nil))
            return
        }
        let user = try LaunchConfiguration.account(of: app.program)
        var own = Self.shell(
            hook.command,
            try LaunchConfiguration.environment(of: app.program, user: user, scope: scope, { _ in }, { _ in }))
        own.credentials = user.flatMap { geteuid() == 0 ? $0.credentials : nil }
        request = own
    }

    /// Whether only root and watchdogd's user can write a file.
    package static func isTrusted(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return isTrusted(owner: status.st_uid, mode: status.st_mode, for: geteuid())
    }

    package static func isTrusted(owner: UInt32, mode: UInt32, for user: UInt32) -> Bool {
        (owner == 0 || owner == user) && mode & 0o022 == 0
    }

    private static func shell(_ command: String, _ environment: Environment) -> SpawnRequest {
        // Run in watchdogd's directory, because the report's path may be relative to it.
        SpawnRequest(
            executable: "/bin/sh", arguments: ["/bin/sh", "-c", ByteString(command)], environment: environment)
    }

    /// The request for one incident.
    ///
    /// - Parameter null: `/dev/null`, for the standard streams.
    func filled(with facts: HookFacts, dropped: Int, null: OwnedDescriptor) -> SpawnRequest {
        var filled = request
        for (name, value) in facts.variables { filled.environment[name] = value }
        filled.environment["WATCHDOGD_DROPPED"] = "\(dropped)"
        filled.descriptors = (0...2).map { .init(null.number, as: $0) }
        return filled
    }
}
