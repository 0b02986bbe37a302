// SPDX-License-Identifier: Apache-2.0

extension Application {
    /// Whether the user sees the app.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// It is being launched, or moves between the other two.
        case inactive
        /// It is in use.
        case active
        /// It is out of sight and may be suspended.
        case background
    }
}
