// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import TestSupport
import WatchdogWire

/// Waits until a descriptor is readable.
func isReadable(_ number: Int32, within limit: Duration = patience) -> Bool {
    var wait = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, Int32(limit / .milliseconds(1))) == 1
}

private func receiveDatagram(_ number: Int32, within limit: Duration) -> [UInt8]? {
    guard isReadable(number, within: limit) else { return nil }
    var buffer = [UInt8](repeating: 0, count: Wire.Limit.datagram + 1)
    let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return count > 0 ? Array(buffer[..<count]) : nil
}

/// The supervisor's end of a channel, and the app's until a session takes it over.
final class Channel {
    let supervisor: Int32
    let app: Int32
    private var isHungUp = false

    init(type: __socket_type = SOCK_SEQPACKET) {
        var ends: [Int32] = [-1, -1]
        precondition(socketpair(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        (supervisor, app) = (ends[0], ends[1])
    }

    deinit {
        hangUp()
    }

    func hangUp() {
        guard !isHungUp else { return }
        isHungUp = true
        // Another test may be starting a process that has a copy of this end until its execve(2).
        shutdown(supervisor, Int32(SHUT_RDWR))
        close(supervisor)
    }

    /// False if the queue is full.
    @discardableResult
    func send(_ message: SupervisorMessage) -> Bool {
        send(message.datagram)
    }

    @discardableResult
    func send(_ datagram: [UInt8]) -> Bool {
        Glibc.send(supervisor, datagram, datagram.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == datagram.count
    }

    /// The next message, nil if none arrives in time.
    func receive(within limit: Duration = patience) -> ClientMessage? {
        receiveDatagram(supervisor, within: limit).map { ClientMessage(decoding: $0) }
    }

    /// All messages that have arrived.
    func drain() -> [ClientMessage] {
        var messages: [ClientMessage] = []
        while let message = receive(within: .zero) {
            messages.append(message)
        }
        return messages
    }
}

/// A supervisor that supports only sd_notify.
final class NotifySocket {
    /// The value for `NOTIFY_SOCKET`.
    let name: String
    private let number: Int32

    /// - Parameter name: A path, or `@` and an abstract name.
    init(_ name: String) {
        self.name = name
        number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
        }
        precondition(result == 0, "cannot bind \(name): \(String(cString: strerror(errno)))")
    }

    deinit {
        close(number)
        if name.hasPrefix("/") { unlink(name) }
    }

    func receive(within limit: Duration = patience) -> NotifyMessage? {
        receiveDatagram(number, within: limit).map { NotifyMessage(decoding: $0) }
    }

    /// A name that no other test uses.
    static func uniqueName(_ prefix: String) -> String {
        "\(prefix)watchdog-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    }
}

extension DispatchTime {
    /// A fixed time for tests without the passage of time.
    static let t0 = DispatchTime(uptimeNanoseconds: 1_000_000_000_000)

    /// The limit of a wait that begins now.
    static var endOfPatience: DispatchTime { DispatchTime.now() + .milliseconds(Int(patienceInMilliseconds)) }
}
