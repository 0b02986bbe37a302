// SPDX-License-Identifier: Apache-2.0

extension Watchdog {
    /// A request or notice of the supervisor to an app that serves its own loop.
    public enum Event: Hashable, Sendable {
        /// The app must exit; it is killed if it has not exited within an allowance.
        ///
        /// SIGTERM is sent as well, and ends the app first unless the app handles it.
        case terminate
        /// The supervisor has exited. ``Link/descriptor`` is nil from now on, and no more events follow.
        case disconnected
    }
}
