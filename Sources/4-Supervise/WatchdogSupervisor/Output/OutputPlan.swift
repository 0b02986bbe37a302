// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Where a program's standard output and error go.
struct OutputPlan: Hashable, Sendable {
    var output: OutputTarget
    var error: OutputTarget
    /// The mask for files that are created.
    var fileModeMask: UInt32 = 0o022
}

extension OutputPlan {
    /// The plan in the app's files.
    init(_ program: ProgramSettings) {
        self.init(
            output: program.standardOutput, error: program.standardError, fileModeMask: program.fileModeMask)
    }
}
