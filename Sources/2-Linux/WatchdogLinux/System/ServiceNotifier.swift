// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// Reports the state of this service to the service manager, without ever waiting for it: sd_notify(3).
///
/// If there is no room for a message, it waits, and messages keep their order.
///
/// Isolation: the loop's thread.
public final class ServiceNotifier {
    private struct Message {
        let text: String
        let descriptors: [OwnedDescriptor]
        /// The name under which to store the descriptors.
        let storeName: String?
    }

    /// The maximum number of messages queued for a service manager that does not read: two for each of 8,192 apps.
    private static let mostWaiting = 16_384

    private static let badName = "the name of stored descriptors must be one that the service manager keeps"

    /// Called with the error that keeps a message from being sent; that message is lost.
    public var onProblem: (LinuxError) -> Void = { _ in }

    private let loop: EventLoop
    private let socket: OwnedDescriptor
    private var waiting: [Message] = []
    private var source: IOSource?

    /// Connects to the service manager; nil if there is none.
    ///
    /// - Throws: if `NOTIFY_SOCKET` does not name a socket that can be sent to.
    public init?(on loop: EventLoop) throws(LinuxError) {
        guard let address = getenv("NOTIFY_SOCKET") else { return nil }
        let number = wd_socket_connect_datagram(address)
        guard number >= 0 else {
            throw LinuxError("reach the service manager at \(String(cString: address))", .current)
        }
        self.loop = loop
        socket = OwnedDescriptor(taking: number)
    }

    /// Sends assignments, now or as soon as there is room: `READY=1`, `STOPPING=1`.
    public func say(_ assignments: [String]) {
        say(Message(text: assignments.joined(separator: "\n"), descriptors: [], storeName: nil))
    }

    /// Sends an assignment that is worthless later: `WATCHDOG=1`, `STATUS=…`.
    ///
    /// - Returns: false if there is no room right now; the message is then dropped.
    @discardableResult
    public func mention(_ assignment: String) -> Bool {
        guard waiting.isEmpty else { return false }
        return (try? send(Message(text: assignment, descriptors: [], storeName: nil))) == true
    }

    /// Adds descriptors to the service manager's store under a name, without replacing those already there.
    ///
    /// Stored descriptors outlive this process and come back with ``ServiceManager/takeDescriptors()`` when it is
    /// restarted. They stay even after the other end of a socket is closed or a process has exited (`FDPOLL=0`, since
    /// systemd 246), so that the restarted process notices it.
    public func store(_ descriptors: [OwnedDescriptor], as name: String) {
        precondition(ServiceManager.isStoreName(name), Self.badName)
        precondition(
            descriptors.count <= Int(WD_SOCKET_MAX_DESCRIPTORS), "too many descriptors for one message")
        say(Message(text: "FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)", descriptors: descriptors, storeName: name))
    }

    /// Removes everything under a name from the store.
    public func removeStored(_ name: String) {
        precondition(ServiceManager.isStoreName(name), Self.badName)
        waiting.removeAll { $0.storeName == name }
        say(Message(text: "FDSTOREREMOVE=1\nFDNAME=\(name)", descriptors: [], storeName: nil))
    }

    /// Waits until the service manager has received all queued messages; call it when there is no other work left.
    public func finish(within patience: Duration = .seconds(1)) {
        let end = loop.now + patience
        while !waiting.isEmpty {
            let rest = end - loop.now
            guard rest > .zero else { return }
            var entry = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
            poll(&entry, 1, Int32(clamping: rest.nanoseconds / 1_000_000 + 1))
            sayWhatWaits()
        }
    }

    // MARK: - Saying

    private func say(_ message: Message) {
        guard waiting.isEmpty else { return keep(message) }
        do throws(LinuxError) {
            if try !send(message) { keep(message) }
        } catch {
            onProblem(error)
        }
    }

    private func keep(_ message: Message) {
        guard waiting.count < Self.mostWaiting else {
            return onProblem(LinuxError("notify the service manager, which does not read", .wouldBlock))
        }
        waiting.append(message)
        guard source == nil else { return }
        do throws(LinuxError) {
            source = try loop.onReady(socket, for: .writable) { [unowned self] _ in sayWhatWaits() }
        } catch {
            onProblem(error)
        }
    }

    private func sayWhatWaits() {
        var said = 0
        defer {
            waiting.removeFirst(said)
            if waiting.isEmpty {
                source?.cancel()
                source = nil
            }
        }
        for message in waiting {
            do throws(LinuxError) {
                guard try send(message) else { return }
            } catch {
                onProblem(error)
            }
            said += 1
        }
    }

    /// - Returns: false if there is no room.
    private func send(_ message: Message) throws(LinuxError) -> Bool {
        var text = message.text
        let numbers = message.descriptors.map(\.number)
        let result = withExtendedLifetime(message.descriptors) {
            text.withUTF8 { wd_socket_send_with(socket.number, $0.baseAddress, $0.count, numbers, numbers.count) }
        }
        guard result != 0 else { return true }
        let errno = Errno.current
        guard errno != .wouldBlock else { return false }
        throw LinuxError("notify the service manager", errno)
    }
}
