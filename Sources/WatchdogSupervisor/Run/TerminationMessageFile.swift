// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy
import WatchdogRendering

/// The file that an orchestrator shows as the reason why the container ended; it never makes a run fail.
struct TerminationMessageFile {
    private let path: String

    /// Checks the file; one that cannot be written to is one warning, and nil.
    init?(_ path: String) {
        do throws(LinuxError) {
            try AtomicFile.check(path)
        } catch {
            StandardError.say("there will be no termination message: --termination-message \(path): \(error)")
            return nil
        }
        self.path = path
    }

    /// Writes a message, unless there is none.
    func write(_ message: String?) {
        guard let message else { return }
        do throws(LinuxError) {
            try AtomicFile.write(Array(message.utf8), to: path)
        } catch {
            StandardError.mention("the termination message could not be written: \(error)")
        }
    }
}

extension Narration {
    /// Why the watchdog killed the program.
    func terminationMessage(of incident: Incident, pid: Int32?, _ report: ReportOutcome?) -> String {
        TerminationMessage.text(
            "\(name)[\(pid ?? 0)] \(incident.words(in: self))", report?.explanation, report: report?.path)
    }
}
