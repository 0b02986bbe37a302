// SPDX-License-Identifier: Apache-2.0

/// How much of a captured process goes into a report, so that what is written can also be read.
enum ReportLimits {
    /// The largest file that is read or written.
    static let fileBytes = 64 << 20
    /// Threads, as many as a snapshot holds.
    static let threads = 4_096
    /// Images; a snapshot holds fewer.
    static let images = 4_096
    /// Frames of one thread: endless recursion shows in far fewer.
    static let framesPerThread = 512
    /// Estimated bytes of all frames together; the rest of a report is small beside them.
    static let frameBytes = 32 << 20
    /// Characters of a symbol or path; C++ templates reach tens of thousands.
    static let symbolLength = 1_024
    /// Characters of a line under `Application Specific Information`.
    static let lineLength = 1_024
    /// Lines of the app's output.
    static let logLines = 200
    /// Arguments, and variables of the environment.
    static let strings = 512
    /// Characters of an argument or of a variable's value.
    static let stringLength = 4_096
}
