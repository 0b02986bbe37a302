// SPDX-License-Identifier: Apache-2.0

/// Constants that both ends share: names, limits and the version of the channel protocol.
public enum Wire {
    /// Version of the channel protocol, the value of `HELLO`.
    ///
    /// Both ends ignore unknown keys, so the version changes only when the meaning of a known key does.
    public static let version = 1

    /// Environment variables by which a supervisor configures the programs that it starts.
    public enum Environment {
        /// Address of a datagram socket for sd_notify messages: a path, or `@` and an abstract name.
        ///
        /// Source: sd_notify(3), "Environment".
        public static let notifySocket = "NOTIFY_SOCKET"

        /// Allowance in microseconds within which `WATCHDOG=1` must arrive, in decimal.
        ///
        /// Source: sd_watchdog_enabled(3), "Environment".
        public static let watchdogMicroseconds = "WATCHDOG_USEC"

        /// The ID of the process to which `WATCHDOG_USEC` applies; others ignore it.
        ///
        /// Source: sd_watchdog_enabled(3), "Environment".
        public static let watchdogProcess = "WATCHDOG_PID"

        /// Number of the inherited `SOCK_SEQPACKET` descriptor of the channel to watchdogd, in decimal.
        ///
        /// Source: watchdogd's channel protocol.
        public static let channel = "WATCHDOG_CHANNEL"

        /// The state in which the app begins, `foreground` or `background`; absent means foreground.
        ///
        /// The app enters it as part of its launch: no `STATE` requests it, and `READY=1` confirms it.
        ///
        /// Source: watchdogd's channel protocol.
        public static let state = "WATCHDOG_STATE"

        /// The kind of the event that the app is launched to handle; absent if there is none.
        ///
        /// This only announces the event, which is the first `EVENT` on the channel.
        ///
        /// Source: watchdogd's channel protocol.
        public static let event = "WATCHDOG_EVENT"

        /// `1` if the launch allows faults: the app executes `HANG_USEC`; absent otherwise.
        ///
        /// Source: watchdogd's channel protocol.
        public static let faults = "WATCHDOG_FAULTS"
    }

    /// Limits on messages, in bytes of UTF-8.
    public enum Limit {
        /// The longest datagram of either protocol; a longer one is rejected.
        ///
        /// Source: systemd's `NOTIFY_BUFFER_MAX`, which is `PIPE_BUF` (src/core/manager.c).
        public static let datagram = 4096

        /// The longest `STATUS` that is sent, and that is kept when it arrives on the channel.
        ///
        /// Source: watchdogd's own; a status is one line for a person.
        public static let status = 1024

        /// The longest `PROGRESS` token.
        ///
        /// Source: watchdogd's own; the token is only compared with the previous one.
        public static let progress = 256

        /// The longest `SUMMARY`, the app's one line in a report.
        ///
        /// Source: watchdogd's own.
        public static let summary = 128

        /// The longest name: the client library of `LIBRARY`, the kind of `EVENT`, a launch task, a signpost and its category.
        ///
        /// Source: watchdogd's own.
        public static let name = 64

        /// The longest name of a background task; the report shows it if the task does not end in time.
        ///
        /// Source: watchdogd's own.
        public static let taskName = 128

        /// The longest `PAYLOAD` of an event.
        ///
        /// Source: watchdogd's own; half a datagram.
        public static let payload = 2048

        /// The longest message of a signpost.
        ///
        /// Source: watchdogd's own.
        public static let signpostMessage = 256
    }
}
