// SPDX-License-Identifier: Apache-2.0

/// The limits on the parts of a captured process in a report, which ensure that every written report can be read.
package enum ReportLimits {
    /// The largest file that is read or written.
    package static let fileBytes = 64 << 20
    /// The number of threads, as in a snapshot.
    static let threads = 4_096
    /// The number of images; a snapshot has fewer.
    package static let images = 4_096
    /// The number of goroutines, as in a snapshot.
    static let goroutines = 256
    /// The number of frames per thread; endless recursion is visible in far fewer.
    package static let framesPerThread = 512
    /// The estimated bytes of all frames together; the rest of a report is small by comparison.
    static let frameBytes = 32 << 20
    /// The number of processes besides the main process.
    package static let processes = 64
    /// The estimated bytes of all frames of these processes together.
    static let otherFrameBytes = 8 << 20
    /// Characters of a symbol or path; C++ template names reach tens of thousands.
    static let symbolLength = 1_024
    /// Characters per line under `Application Specific Information`.
    static let lineLength = 1_024
    /// Lines of the app's output.
    static let logLines = 200
    /// Number of arguments, and of environment variables.
    static let strings = 512
    /// Characters of an argument or of an environment variable's value.
    static let stringLength = 4_096
}

extension String {
    /// The beginning of the text in at most this many bytes of UTF-8, cut between characters; a text that was cut ends in
    /// `...`.
    package func bounded(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let room = Swift.max(0, limit - 3)
        var kept = String.UnicodeScalarView()
        var count = 0
        for scalar in unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= room else { break }
            kept.append(scalar)
        }
        return String(kept) + "...".prefix(limit)
    }
}
