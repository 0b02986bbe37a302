// SPDX-License-Identifier: Apache-2.0

extension Watchdog {
    /// What the supervisor tells an app that serves its own loop.
    public enum Event: Hashable, Sendable {
        /// The app is to end, and is killed if it has not ended within an allowance.
        ///
        /// SIGTERM is sent as well, and ends the app first unless the app handles it.
        case terminate
        /// The supervisor is gone. ``Link/descriptor`` is nil from now on, and nothing more will come.
        case disconnected
    }
}
