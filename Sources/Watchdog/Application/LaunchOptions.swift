// SPDX-License-Identifier: Apache-2.0

extension Application {
    /// Why and where to the app is launched.
    public struct LaunchOptions: Hashable, Sendable {
        /// True when the app is launched into the background: it does not become active before somebody wants to see it.
        public internal(set) var isInBackground = false
        /// The kind of the event for whose sake the app is launched; nil for the launch's own sake.
        ///
        /// The event itself follows right after the launch, through ``ApplicationDelegate/application(_:handle:)``.
        public internal(set) var eventKind: String?

        /// Creates the options of a launch into the foreground for its own sake.
        public init() {}

        package init(isInBackground: Bool, eventKind: String?) {
            (self.isInBackground, self.eventKind) = (isInBackground, eventKind)
        }
    }
}
