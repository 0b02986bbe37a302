// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration
import WatchdogLaunch

/// Reads the file of `watchdogd run --script`.
enum RunScript {
    /// Reads the whole file; prints every error and throws a sysexits.h exit code.
    static func read(_ path: String) throws -> LifecycleScript {
        let bytes: [UInt8]
        do throws(ConfigurationReadError) {
            bytes = try HostFileSystem().contents(of: path, limit: LifecycleScript.maximumLength + 1)
        } catch {
            StandardError.say("--script: \(error.description)")
            throw ExitCode(66)
        }
        do throws(LifecycleScript.Failure) {
            return try LifecycleScript(parsing: ConfigurationFile(path: path, contents: bytes))
        } catch {
            for diagnostic in error.diagnostics {
                var text = diagnostic.text
                if text.last == "\n" { text.removeLast() }
                StandardError.say(text)
            }
            throw ExitCode(65)
        }
    }
}
