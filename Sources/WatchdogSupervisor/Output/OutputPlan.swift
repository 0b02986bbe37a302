// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Where the standard output and error of a program are to go.
struct OutputPlan: Hashable, Sendable {
    var output: OutputTarget
    var error: OutputTarget
    /// Of files that are created.
    var fileModeMask: UInt32 = 0o022
}

extension OutputPlan {
    /// As the files of an app say.
    init(_ program: ProgramSettings) {
        self.init(
            output: program.standardOutput, error: program.standardError, fileModeMask: program.fileModeMask)
    }
}
