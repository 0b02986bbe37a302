// SPDX-License-Identifier: Apache-2.0

extension Application {
    /// The cause of a launch, and the state in which the app starts.
    public struct LaunchOptions: Hashable, Sendable {
        /// Whether the app is launched into the background, where it stays until the user opens it.
        public internal(set) var isInBackground = false
        /// The kind of the event that the app is launched to handle; nil if it is launched for no event.
        ///
        /// The event itself is delivered right after the launch, to ``ApplicationDelegate/application(_:handle:)``.
        public internal(set) var eventKind: String?

        /// Creates the options of a launch into the foreground without an event.
        public init() {}

        package init(isInBackground: Bool, eventKind: String?) {
            (self.isInBackground, self.eventKind) = (isInBackground, eventKind)
        }
    }
}
