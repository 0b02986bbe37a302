// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogWire

/// Forwards the program's notifications to watchdogd's own service manager, so that a unit keeps its `Type=notify`:
/// sd_notify(3).
///
/// Isolation: the loop's thread.
final class RunNotifier {
    private let notifier: ServiceNotifier
    private let loop: EventLoop
    private var signOfLife: Timer?
    private var isReloading = false

    /// Connects to the service manager; nil without one.
    ///
    /// An invalid inherited variable must not prevent the program from running.
    static func connect(hearing supervisor: Supervisor, on loop: EventLoop) -> RunNotifier? {
        do throws(LinuxError) {
            return try RunNotifier(hearing: supervisor, on: loop)
        } catch {
            StandardError.mention("\(error); systemd gets no messages about this program")
            return nil
        }
    }

    /// Connects to the service manager; nil without one.
    ///
    /// - Throws: if `NOTIFY_SOCKET` is not the address of a usable socket.
    private init?(hearing supervisor: Supervisor, on loop: EventLoop) throws(LinuxError) {
        guard let notifier = try ServiceNotifier(on: loop) else { return nil }
        self.notifier = notifier
        self.loop = loop
        supervisor.onNotify = { [unowned self] in heard($0) }
        supervisor.onExtension = { [notifier] duration, _ in
            notifier.say(["EXTEND_TIMEOUT_USEC=\(duration.wholeMicroseconds)"])
        }
        guard let interval = ServiceManager.watchdogInterval else { return }
        // systemd's deadline applies to watchdogd itself; watchdogd judges the program.
        signOfLife = try loop.timer { [unowned self] _ in
            notifier.mention("WATCHDOG=1")
            signOfLife?.arm(at: loop.now + interval / 2)
        }
        signOfLife?.arm(at: loop.now)
    }

    func noticed(_ notice: Notice) {
        switch notice {
        case .ready: notifier.say(["READY=1"])
        case .terminating: notifier.say(["STOPPING=1"])
        default: break
        }
    }

    /// Forwards the program's report of a reload, or of readiness after it.
    private func heard(_ message: NotifyMessage) {
        if message.isReloading {
            isReloading = true
            notifier.say(["RELOADING=1", "MONOTONIC_USEC=\((loop.now - Instant(nanoseconds: 0)).wholeMicroseconds)"])
        } else if message.isReady, isReloading {
            isReloading = false
            notifier.say(["READY=1"])
        }
        if let status = message.status { notifier.mention("STATUS=\(status.singleLine(limit: 400))") }
    }
}
