// SPDX-License-Identifier: Apache-2.0

package import WatchdogConfiguration

/// Where a program's standard output and error go.
package struct OutputPlan: Hashable, Sendable {
    package var output: OutputTarget
    package var error: OutputTarget
    /// The mask for files that are created.
    var fileModeMask: UInt32 = 0o022

    package init(output: OutputTarget, error: OutputTarget, fileModeMask: UInt32 = 0o022) {
        self.output = output
        self.error = error
        self.fileModeMask = fileModeMask
    }
}

extension OutputPlan {
    /// The plan in the app's files.
    package init(_ program: ProgramSettings) {
        self.init(
            output: program.standardOutput, error: program.standardError, fileModeMask: program.fileModeMask)
    }
}
