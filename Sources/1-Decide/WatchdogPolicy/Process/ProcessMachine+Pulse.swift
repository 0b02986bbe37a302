// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension ProcessMachine {
    /// What changes with every sign of life of a healthy app: little enough to be saved each time.
    public struct Pulse: Hashable, Sendable {
        /// The most nonces that a pulse holds.
        public static let nonceLimit = PingWatch.nonceLimit

        /// The state of the nonce sequence.
        public var nonceState: UInt64
        /// Nonces that may still be answered, the latest last; at most ``nonceLimit``.
        public var unanswered: [UInt64]
        /// When the latest ping was sent.
        public var lastPingSent: Instant?
        /// When the next ping is due.
        public var nextPing: Instant?
        /// When the running allowance started; nil if none is running.
        public var startedAt: Instant?
        /// The running allowance; zero if there is none.
        public var allowance: Duration

        /// Creates a pulse from its parts.
        public init(
            nonceState: UInt64,
            unanswered: [UInt64],
            lastPingSent: Instant?,
            nextPing: Instant?,
            startedAt: Instant?,
            allowance: Duration
        ) {
            self.nonceState = nonceState
            self.unanswered = unanswered
            self.lastPingSent = lastPingSent
            self.nextPing = nextPing
            self.startedAt = startedAt
            self.allowance = allowance
        }
    }

    /// What must be saved of a machine.
    public struct Change {
        /// Whether it differs from the last checkpoint in more than its pulse.
        public let isWhole: Bool
        /// What changes with every sign of life.
        public let pulse: Pulse?
    }

    /// The last saved whole state, to compare with.
    public struct Checkpoint: Sendable {
        // Boxed, because copying it to compare would cost as much as the comparison.
        let bare: Boxed<ProcessMachine>

        /// Records a machine that is saved now.
        public init(of machine: ProcessMachine) {
            bare = Boxed(wrappedValue: machine.withoutPulse)
        }

        /// Records the saved state of a machine.
        public init(of saved: SavedProcess) {
            self.init(of: ProcessMachine(saved))
        }
    }
}
