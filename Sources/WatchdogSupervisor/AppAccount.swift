// SPDX-License-Identifier: Apache-2.0

/// What an app said of itself, for the report and the summary.
///
/// Every text is the app's: bounded, but not to be trusted.
struct AppAccount: Hashable, Sendable {
    /// `STATUS=`, the latest.
    var status: String?
    /// `SUMMARY=`, the latest.
    var summary: String?
    /// `ERRNO=`, the latest.
    var errno: Int32?
    /// The client library by its own word.
    var library: String?
    /// `MAINPID=`, when it named a process of the app.
    var mainProcess: Int32?
    /// Fields that did not make sense.
    var malformed = 0
    /// Datagrams of which only the signs of life were heeded, because there were too many.
    var dropped = 0
}
