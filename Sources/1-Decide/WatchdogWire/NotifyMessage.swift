// SPDX-License-Identifier: Apache-2.0

/// A message of the sd_notify protocol, which unmodified programs send to `NOTIFY_SOCKET`.
///
/// Decoding takes any bytes and follows systemd: values of known keys are taken from their first assignment, flags from any,
/// invalid values are dropped and counted, unknown keys are counted and ignored. A datagram that is longer than
/// ``Wire/Limit/datagram`` or contains a NUL before its end is rejected and counts as one malformed line.
///
/// Source: sd_notify(3); systemd, src/core/service.c, service_notify_message().
public struct NotifyMessage: Hashable, Sendable {
    /// The values of `WATCHDOG`.
    public enum Watchdog: String, Hashable, Sendable {
        /// A sign of life; the allowance restarts.
        case alive = "1"
        /// The program has detected its own failure and requests the same treatment as for an exhausted allowance.
        case trigger
    }

    /// The program has started, or has finished reloading.
    public var isReady = false
    /// The program has shown its first frame; watchdogd's own key.
    public var isFirstFrame = false
    /// The program does its actual work; watchdogd's own key.
    public var isUseful = false
    /// The program is reloading its configuration.
    public var isReloading = false
    /// The program is shutting down; this takes precedence over ready and reloading in the same message.
    public var isStopping = false
    /// The start of the reload, as the time since the origin of `CLOCK_MONOTONIC`.
    public var reloadBegan: Duration?
    /// One line about the program's state, for people; empty to clear the previous one.
    public var status: String?
    /// The errno with which the program failed, 1...4095.
    public var errno: Int32?
    /// The D-Bus error name with which the program failed.
    public var busError: String?
    /// The exit status that the program wants reported; it may be sent before the exit.
    public var exitStatus: UInt8?
    /// The new main process.
    public var mainProcess: Int32?
    /// A sign of life, or the request to be killed.
    public var watchdog: Watchdog?
    /// The new watchdog allowance; zero turns the watchdog off.
    public var watchdogTimeout: Duration?
    /// The time, from now, that the program requests before a start, stop or runtime allowance is exhausted.
    public var timeoutExtension: Duration?
    /// A token that changes as the work that needs the extension progresses.
    public var progress: String?
    /// The sender waits until the descriptor sent along is closed, see sd_notify_barrier(3).
    public var isBarrier = false
    /// The number of lines that were dropped because they were not assignments or had an invalid value.
    public var malformed = 0
    /// The number of different unknown keys.
    public var unknown = 0

    /// Creates an empty message.
    public init() {}

    /// The part of the message that is still accepted if its sender has exited: it may have been any process of the
    /// same user.
    ///
    /// `systemd-notify` exits immediately, so scripts depend on `READY=1` and `STATUS=`.
    public var unattributed: NotifyMessage {
        var message = NotifyMessage()
        (message.isReady, message.status) = (isReady, status)
        return message
    }
}

// MARK: - Decoding

extension NotifyMessage {
    /// Decodes a datagram; never fails, but counts unusable lines.
    ///
    /// - Parameter datagram: The bytes as received; untrusted.
    public init(decoding datagram: some Collection<UInt8>) {
        // Fast path: most datagrams, about one a second for each app, have only this line.
        if datagram.elementsEqual("WATCHDOG=1".utf8) || datagram.elementsEqual("WATCHDOG=1\n".utf8) {
            watchdog = .alive
            return
        }
        let reader = FieldReader(datagram)
        var first = FirstAssignments()
        malformed = reader.malformed
        for field in reader.fields {
            switch field.key {
            case "READY": field.raise(&isReady, orCount: &malformed)
            case "FIRST_FRAME": field.raise(&isFirstFrame, orCount: &malformed)
            case "USEFUL": field.raise(&isUseful, orCount: &malformed)
            case "RELOADING": field.raise(&isReloading, orCount: &malformed)
            case "STOPPING": field.raise(&isStopping, orCount: &malformed)
            case "BARRIER": field.raise(&isBarrier, orCount: &malformed)
            case "FDSTORE", "FDSTOREREMOVE", "FDNAME", "FDPOLL": break
            case "MAINPIDFD", "MAINPIDFDID", "NOTIFYACCESS", "VARLINKERROR": break
            default:
                guard first.admit(field.key) else { continue }
                take(field)
            }
        }
    }

    private mutating func take(_ field: FieldReader.Field) {
        switch field.key {
        case "MONOTONIC_USEC": reloadBegan.take(field.microseconds, orCount: &malformed)
        case "STATUS": status = field.text()
        case "ERRNO": errno.take(field.number(in: 1...4095), orCount: &malformed)
        case "BUSERROR": busError = field.text()
        case "EXIT_STATUS": exitStatus.take(field.number(), orCount: &malformed)
        case "MAINPID": mainProcess.take(field.number(in: 1...Int32.max), orCount: &malformed)
        case "WATCHDOG": watchdog.take(Watchdog(rawValue: field.text()), orCount: &malformed)
        case "WATCHDOG_USEC": watchdogTimeout.take(field.microseconds(in: 0...Int64.max), orCount: &malformed)
        case "EXTEND_TIMEOUT_USEC": timeoutExtension.take(field.microseconds, orCount: &malformed)
        case "PROGRESS": progress = field.text(limit: Wire.Limit.progress)
        default: unknown += 1
        }
    }
}

// MARK: - Encoding

extension NotifyMessage {
    /// The datagram to send, at most ``Wire/Limit/datagram`` bytes; empty if the message is empty.
    ///
    /// Texts are cut at their limits and put on one line. ``malformed`` and ``unknown`` are not sent.
    public var datagram: [UInt8] {
        var writer = FieldWriter()
        writer.flag("READY", isReady)
        writer.flag("FIRST_FRAME", isFirstFrame)
        writer.flag("USEFUL", isUseful)
        writer.flag("RELOADING", isReloading)
        writer.flag("STOPPING", isStopping)
        writer.microseconds("MONOTONIC_USEC", reloadBegan)
        writer.text("STATUS", status, limit: Wire.Limit.status)
        writer.number("ERRNO", errno)
        writer.text("BUSERROR", busError, limit: Wire.Limit.progress)
        writer.number("EXIT_STATUS", exitStatus)
        writer.number("MAINPID", mainProcess)
        writer.text("WATCHDOG", watchdog?.rawValue, limit: Wire.Limit.name)
        writer.microseconds("WATCHDOG_USEC", watchdogTimeout)
        writer.microseconds("EXTEND_TIMEOUT_USEC", timeoutExtension)
        writer.text("PROGRESS", progress, limit: Wire.Limit.progress)
        writer.flag("BARRIER", isBarrier)
        return writer.bytes
    }
}
