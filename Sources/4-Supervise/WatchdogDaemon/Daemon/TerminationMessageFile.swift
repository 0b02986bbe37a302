// SPDX-License-Identifier: Apache-2.0

package import WatchdogLaunch
import WatchdogLinux
package import WatchdogPolicy
import WatchdogRendering

/// The file whose text an orchestrator shows as the cause of the container's end.
///
/// Errors never fail a run.
package struct TerminationMessageFile {
    private let path: String

    /// Checks the file; if it is not writable, prints one warning and returns nil.
    package init?(_ path: String) {
        do throws(LinuxError) {
            try AtomicFile.check(path)
        } catch {
            StandardError.say("there will be no termination message: --termination-message \(path): \(error)")
            return nil
        }
        self.path = path
    }

    /// Writes the message; does nothing for nil.
    package func write(_ message: String?) {
        guard let message else { return }
        do throws(LinuxError) {
            try AtomicFile.write(Array(message.utf8), to: path)
        } catch {
            StandardError.mention("the termination message could not be written: \(error)")
        }
    }
}

extension Narration {
    /// The message about a kill by the watchdog.
    package func terminationMessage(of incident: Incident, pid: Int32?, _ report: ReportOutcome?) -> String {
        TerminationMessage.text(
            "\(name)[\(pid ?? 0)] \(incident.words(in: self))", report?.explanation, report: report?.path)
    }
}
