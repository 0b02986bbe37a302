// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration
import WatchdogControl
import WatchdogDaemon
import WatchdogLaunch

/// A process that the command line names: by its ID, as a container, or as an app of the daemon.
enum NamedProcess {
    /// The process of `1234`, of a container's ID and of `container:NAME`; nil for anything else.
    static func explicit(_ text: String) throws -> Int32? {
        if let pid = Int32(text) { return pid }
        guard isContainer(text) else { return nil }
        return try Failure.running { () throws(RunError) in
            try process(of: ObservedTarget.container(in: text) ?? text)
        }
    }

    /// Whether a text is a container's ID or `container:NAME`.
    static func isContainer(_ text: String) -> Bool {
        ObservedTarget.isContainerID(text) || ObservedTarget.container(in: text) != nil
    }

    private static func process(of container: String) throws(RunError) -> Int32 {
        let found = try ContainerProcess(container)
        if let claim = found.claim { StandardError.say(claim) }
        return found.pid
    }

    /// The container with a name that the daemon does not know, or that it cannot be asked for.
    ///
    /// - Parameter error: why the daemon has no answer.
    /// - Throws: the exit code, after `error` is printed, if there is no such container either.
    static func container(
        named name: String, after error: ControlClientError, of daemon: DaemonChoice, printsJSON: Bool = false
    ) throws -> Int32 {
        guard error.mayBeNoApp else { throw daemon.report(error, printsJSON: printsJSON) }
        do throws(RunError) {
            return try process(of: name)
        } catch let other {
            // Not EX_NOINPUT: several containers have that name, so the error is about containers, not the daemon.
            guard other.exitCode == 66 else {
                StandardError.say(other.description)
                throw ExitCode(other.exitCode)
            }
            throw daemon.report(error, adding: "; \(other.description)", printsJSON: printsJSON)
        }
    }
}

extension ControlClientError {
    /// Whether the name may be that of something other than an app.
    fileprivate var mayBeNoApp: Bool {
        switch code {
        case .notRunning, .refused(.noSuchApp): true
        default: false
        }
    }
}
