// SPDX-License-Identifier: Apache-2.0

extension Application {
    /// How visible the app is to the user, as the supervisor last requested.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// The app is launching, or is moving between the other two states.
        case inactive
        /// The user sees the app and can use it.
        case active
        /// The user does not see the app, which may be suspended at any time.
        case background
    }
}
