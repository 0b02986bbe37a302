// SPDX-License-Identifier: Apache-2.0

extension Watchdog {
    /// The app's main loop has already been chosen.
    ///
    /// Only one loop may answer: with two, whichever ran first would answer a ping.
    public struct AttachError: Error, CustomStringConvertible {
        /// An explanation for people.
        public var description: String {
            "the main loop to watch was already chosen, by Watchdog.start() or Watchdog.attach()"
        }
    }
}
