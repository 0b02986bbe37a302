// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase

/// A TCP proxy that simulates the network of a profile.
///
/// All connections share the link's bandwidth. Memory is bounded: at most ``connectionLimit`` connections with at most
/// 1 MiB in each direction (``LinkProfile/Direction/window``); a faster sender has to wait. A connection is accepted at
/// once, but carries no data until the round trip of its handshake would be over. If the link loses everything, the
/// connection is still accepted, but carries no data.
///
/// Isolation: one thread, the one that calls ``run(until:)``.
package final class Conditioner {
    package static let connectionLimit = 256
    /// The pause before the next accept(2) after the process has run out of descriptors.
    private static let pause = Duration.milliseconds(100)

    /// The listening address, with the port that the kernel chose for port 0.
    package let address: SocketAddress
    private let target: SocketAddress
    private let profile: LinkProfile
    private let listener: Int32
    private var relays: [Int: Relay] = [:]
    private var nextRelay = 0
    private var up: LinkShaper
    private var down: LinkShaper
    private var acceptingFrom = Instant(nanoseconds: .min)

    package init(listen: SocketAddress, to target: SocketAddress, profile: LinkProfile) throws(ConditionerError) {
        let listener = socket(
            listen.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard listener >= 0 else { throw ConditionerError("make a socket", errno: errno) }
        var on: Int32 = 1
        // Otherwise, old connections in TIME_WAIT would prevent a restart on the same port.
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout.size(ofValue: on)))
        guard listen.withPointer({ bind(listener, $0, $1) }) == 0, Glibc.listen(listener, 128) == 0 else {
            let error = ConditionerError("listen on \(listen)", errno: errno)
            close(listener)
            throw error
        }
        self.listener = listener
        address = SocketAddress(boundBy: listener)
        self.target = target
        self.profile = profile
        let (now, pause) = (Instant.now, profile.retransmission)
        up = LinkShaper(profile.uplink, retransmission: pause, seed: 1, at: now)
        down = LinkShaper(profile.downlink, retransmission: pause, seed: 2, at: now)
    }

    deinit {
        for relay in relays.values { relay.close(isReset: true) }
        close(listener)
    }

    /// Relays connections until `stop` is readable; without it, forever.
    package func run(until stop: Int32? = nil) throws(ConditionerError) {
        while try turn(until: stop ?? -1) {}
    }

    // MARK: - The loop

    private func turn(until stop: Int32) throws(ConditionerError) -> Bool {
        let isAccepting = relays.count < Self.connectionLimit && .now >= acceptingFrom
        var waits = [
            pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isAccepting ? listener : -1, events: Int16(POLLIN), revents: 0),
        ]
        let order = Array(relays.keys)
        for id in order { waits += relays[id]?.waits ?? [] }
        guard poll(&waits, nfds_t(waits.count), timeout(isAccepting: isAccepting)) >= 0 || errno == EINTR else {
            throw ConditionerError("wait for the network", errno: errno)
        }
        if waits[0].revents != 0 { return false }
        // Deliver before reading: delivered bytes make room for more.
        deliver(up.advance(to: .now), \.up)
        deliver(down.advance(to: .now), \.down)
        for (index, id) in order.enumerated() {
            service(id, client: waits[2 + 2 * index].revents, server: waits[3 + 2 * index].revents)
        }
        if waits[1].revents != 0 { accept() }
        return true
    }

    private func timeout(isAccepting: Bool) -> Int32 {
        var next = [up.nextEvent, down.nextEvent].compactMap(\.self)
        if !isAccepting, relays.count < Self.connectionLimit { next.append(acceptingFrom) }
        guard let instant = next.min() else { return -1 }
        return Int32(clamping: (max(0, (instant - .now).nanoseconds) + 999_999) / 1_000_000)
    }

    private func deliver(_ deliveries: [LinkShaper.Delivery], _ lane: WritableKeyPath<Relay, Relay.Lane>) {
        for delivery in deliveries {
            relays[delivery.stream]?[keyPath: lane].deliverable += delivery.bytes
            if delivery.isEnd { relays[delivery.stream]?[keyPath: lane].isEndDue = true }
        }
    }

    private func accept() {
        while relays.count < Self.connectionLimit {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else {
                // Other errors mean that the connection was aborted before it was accepted: accept(2).
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { acceptingFrom = .now + Self.pause }
                if errno == ECONNABORTED || errno == EINTR { continue }
                return
            }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            add(client)
        }
    }

    private func add(_ client: Int32) {
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let server = socket(target.family, flags, 0)
        guard server >= 0 else {
            acceptingFrom = .now + Self.pause
            close(client)
            return
        }
        var relay = Relay(client: client, server: server, over: profile)
        var on: Int32 = 1
        for descriptor in [client, server] {
            // The simulated link schedules the bytes; Nagle's algorithm would delay them further.
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout.size(ofValue: on)))
        }
        relay.isConnected = target.withPointer { connect(server, $0, $1) } == 0
        guard relay.isConnected || errno == EINPROGRESS else {
            relay.close(isReset: true)
            return
        }
        let id = nextRelay
        nextRelay += 1
        relays[id] = relay
        up.add(id, sendingFrom: .now + profile.roundTrip)
        down.add(id, sendingFrom: .now + profile.roundTrip)
    }

    // MARK: - One connection

    private func service(_ id: Int, client: Int16, server: Int16) {
        guard var relay = relays[id] else { return }
        relays[id] = nil
        let isAlive = transfer(&relay, id, client, server)
        guard isAlive, !relay.isDone else {
            relay.close(isReset: !isAlive)
            up.remove(id)
            down.remove(id)
            return
        }
        relays[id] = relay
    }

    private func transfer(_ relay: inout Relay, _ id: Int, _ client: Int16, _ server: Int16) -> Bool {
        let readable = Int16(POLLIN) | Int16(POLLHUP) | Int16(POLLERR)
        if !relay.isConnected, server != 0 {
            guard relay.connectionError == 0 else { return false }
            relay.isConnected = true
        }
        if client & readable != 0 {
            guard read(relay.client, &relay.up, &up, id) else { return false }
        }
        if relay.isConnected, server & readable != 0 {
            guard read(relay.server, &relay.down, &down, id) else { return false }
        }
        // After an error on either socket, the bytes in flight have no receiver any more.
        if (client | server) & Int16(POLLERR) != 0 { return false }
        guard Relay.write(to: relay.client, from: &relay.down) else { return false }
        return !relay.isConnected || Relay.write(to: relay.server, from: &relay.up)
    }

    private func read(_ descriptor: Int32, _ lane: inout Relay.Lane, _ shaper: inout LinkShaper, _ id: Int) -> Bool {
        switch Relay.read(from: descriptor, into: &lane) {
        case .some(let count): shaper.enqueue(count, on: id, at: .now)
        // On a link that loses everything, neither side ever receives the other's FIN.
        case .end where profile.uplink.isDead || profile.downlink.isDead: return false
        case .end: shaper.enqueue(0, isEnd: true, on: id, at: .now)
        case .nothing: break
        case .failed: return false
        }
        return true
    }
}

extension Relay {
    /// The events to poll for on both sockets.
    ///
    /// A socket without a wanted event is left out: poll(2) would report POLLHUP on it again and again.
    fileprivate var waits: [pollfd] {
        let clientEvents = (up.room > 0 ? POLLIN : 0) | (down.wantsToWrite ? POLLOUT : 0)
        let serverEvents =
            isConnected ? (down.room > 0 ? POLLIN : 0) | (up.wantsToWrite ? POLLOUT : 0) : POLLOUT
        return [
            pollfd(fd: clientEvents == 0 ? -1 : client, events: Int16(clientEvents), revents: 0),
            pollfd(fd: serverEvents == 0 ? -1 : server, events: Int16(serverEvents), revents: 0),
        ]
    }

    /// The result of a nonblocking connect(2): 0, or an errno (SO_ERROR).
    fileprivate var connectionError: Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout.size(ofValue: error))
        return getsockopt(server, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno
    }
}

extension Instant {
    fileprivate static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

/// A failed operation, and the reason.
package struct ConditionerError: Error, CustomStringConvertible {
    package let operation: String
    package let number: Int32

    init(_ operation: String, errno number: Int32) {
        self.operation = operation
        self.number = number
    }

    package var description: String { "cannot \(operation): \(String(cString: strerror(number)))" }
}
