// SPDX-License-Identifier: Apache-2.0

extension Watchdog {
    /// The app's main loop was chosen before.
    ///
    /// Two loops must not share the answering: a ping would be answered by the one that happens to turn.
    public struct AttachError: Error, CustomStringConvertible {
        /// What was wrong, for people.
        public var description: String {
            "the main loop to be watched has been chosen already, by Watchdog.start() or Watchdog.attach()"
        }
    }
}
