// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase
import WatchdogLinux

extension ControlServer {
    /// The number of descriptors that clients without the right to act cannot use up: captures and reports need some,
    /// and libdispatch crashes a process without free descriptors.
    private static let reservedDescriptors: Int64 = 32

    /// The key of all connections for the closer, which is not a user's ID.
    static let clients = UInt32.max

    func accept() {
        let number = wd_stream_accept(socket.descriptor.number)
        guard number >= 0 else {
            acceptFailed(Errno(rawValue: errno))
            return
        }
        let descriptor = OwnedDescriptor(taking: number)
        // If the kernel lets clients pass descriptors (before Linux 6.16), closing the connection also closes unread
        // ones, which can block. So the closer keeps a duplicate.
        let ticket = socket.refusesDescriptors ? nil : closer?.keep(descriptor, for: Self.clients)
        var isOpen = false
        defer { if !isOpen, let ticket { closer?.release(ticket) } }
        var credentials = wd_stream_peer()
        guard wd_stream_peer(number, &credentials) == 0 else { return }
        let peer = ControlPeer(pid: credentials.pid, user: credentials.user, group: credentials.group)
        let mayAct = access.allows(.act, to: peer.user)
        // The kernel assigns the lowest free number, so the number shows how many are in use.
        if !mayAct, let limit = try? ResourceLimit.current(.openFiles).soft,
            Int64(number) >= Int64(clamping: limit) - Self.reservedDescriptors
        {
            acceptFailed(Errno(rawValue: EMFILE))
            return
        }
        let connection = ControlConnection(
            id: lastID + 1, peer: peer, mayAct: mayAct, descriptor: descriptor,
            refusesDescriptors: socket.refusesDescriptors,
            limits: limits, now: loop.now)
        connection.ticket = ticket
        guard isAdmitted(peer, mayAct: mayAct) else {
            statistics.refused += 1
            connection.output.append(encode(.tooManyConnections(limit: limits.connections)))
            connection.flush(at: loop.now)
            notice(.refused, peer)
            return
        }
        do {
            connection.source = try loop.onReady(descriptor, for: .readable, priority: priority) {
                [weak self, weak connection] readiness in
                if let self, let connection { serve(connection, readiness) }
            }
        } catch {
            notice(.failed(error), peer)
            return
        }
        isOpen = true
        lastID += 1
        connections[lastID] = connection
        statistics.accepted += 1
        statistics.open += 1
        schedule(connection)
    }

    private func isAdmitted(_ peer: ControlPeer, mayAct: Bool) -> Bool {
        limits.admits(
            mayAct: mayAct,
            all: connections.count,
            others: connections.values.count { !$0.mayAct },
            own: connections.values.count { $0.peer.user == peer.user }
        )
    }

    func acceptFailed(_ error: Errno) {
        switch error.rawValue {
        case EAGAIN, ECONNABORTED, EPERM: break
        default:
            // Without a free descriptor, the client stays in the backlog and the socket stays readable, so the loop
            // would spin.
            do {
                try arrivals?.watch(for: [])
                acceptAgainAt = loop.now + .milliseconds(250)
                armPatience(at: acceptAgainAt)
            } catch let error {
                notice(.failed(error), nil)
            }
            notice(.acceptFailed(error), nil)
        }
    }
}
