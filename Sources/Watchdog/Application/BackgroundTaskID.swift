// SPDX-License-Identifier: Apache-2.0

extension Application {
    /// One background task of this process.
    public struct BackgroundTaskID: Hashable, Sendable {
        /// The app's number for the task, from 1 upwards.
        public let rawValue: UInt64

        /// No task: it could not begin.
        public static let invalid = BackgroundTaskID(rawValue: 0)
    }
}
