// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// Takes and closes what strangers pass, in processes that can be lost.
///
/// Whoever passes a descriptor decides how long its last close takes, and a process that is killed while it closes a file
/// of FUSE does not end. So this process never receives one, and never drops the last reference to one or to a socket in
/// which one waits: a *keeper* has a copy of each such socket. The keeper closes nothing itself; it forks a process for
/// each message to take and each socket to give up: wd_closer.h.
///
/// A message that is being removed must not be looked at: whoever peeks at one holds its files for a moment, and could be
/// the last to let go of them.
///
/// A keeper that is lost is replaced. If this process executes a program again, that one takes the keeper over. If it ends,
/// however it does, keepers end after it.
///
/// Isolation: the loop's thread; nothing here waits.
public final class Closer {
    /// Identifies a socket that is kept.
    public struct Ticket: Hashable {
        fileprivate let id: UInt64
    }

    private struct Kept {
        let socket: OwnedDescriptor
        let owner: UInt32
        /// Called when the message that is to be taken is out.
        var taken: (() -> Void)?
        /// The keeper has declined to take it now.
        var isDeclined = false
    }

    private struct Request {
        let message: wd_closer_message
        let socket: OwnedDescriptor?
    }

    private let loop: EventLoop
    private let source: CloserSource
    /// Called with why nothing can be taken or closed any more.
    public var onProblem: (LinuxError) -> Void = { _ in }

    private var keeper: OwnedDescriptor?
    private var answers: IOSource?
    private var sockets: [UInt64: Kept] = [:]
    /// Sockets that were released but that somebody still refers to.
    private var departing: [(id: UInt64, owner: UInt32, socket: OwnedDescriptor)] = []
    /// Requests for which the keeper's socket had no room.
    private var requests: [Request] = []
    private var lastID: UInt64 = 0
    private var timer: Timer?
    private var isHopeless = false

    /// How soon what could not be done is tried again.
    private static let pause = Duration.milliseconds(20)
    /// How soon the keeper is asked again to take what it has declined to take.
    private static let declinedPause = Duration.milliseconds(100)
    /// How long ``regain(_:)`` waits for the keeper: for a fork and one system call on a machine that is not overloaded.
    private static let patience = Duration.milliseconds(100)

    /// Starts the first keeper, or takes over the one that was handed over.
    public init(_ source: CloserSource, on loop: EventLoop) throws(LinuxError) {
        self.source = source
        self.loop = loop
        // Unlike those of an earlier program of this process.
        lastID = UInt64(clamping: Instant.now().nanoseconds)
        timer = try loop.timer { [unowned self] _ in tryAgain() }
        guard let inherited = source.keeper else {
            try startKeeper()
            return
        }
        answers = try loop.onReadable(inherited) { [unowned self] in receive() }
        keeper = inherited
        send(.init(message: message(WD_CLOSER_SUCCEED, 0, 0), socket: nil))
    }

    // MARK: - Handing over

    /// What ``CloserSource/init(handedOver:)`` needs, and the descriptors that must stay open; nil without a keeper.
    public var handedOver: (text: String, descriptors: [Int32])? {
        guard let keeper else { return nil }
        let descriptors = [source.link.number, keeper.number]
        let text = "\(WD_CLOSER_PROTOCOL) \(descriptors[0]) \(descriptors[1]) \(source.process?.pid ?? -1)"
        return (text, descriptors)
    }

    /// Whether the keeper has requests that it has not answered, or has not received.
    public var isBusy: Bool { !requests.isEmpty || sockets.values.contains { $0.taken != nil && !$0.isDeclined } }

    /// Gives up what an earlier program of this process had kept; everything that is still in use is kept by now.
    public func forgetEarlierSockets() {
        guard source.keeper != nil else { return }
        send(.init(message: message(WD_CLOSER_FORGET, 0, 0), socket: nil))
    }

    /// Gives up all sockets, so that the keeper can end before this process does; keep nothing afterwards.
    ///
    /// Whoever still has one of the sockets has `/dev/null` instead. A keeper that has not got all of them yet stays until
    /// this process has ended.
    public func end() {
        sendRequests()
        guard requests.isEmpty, keeper != nil,
            let null = try? OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        else { return }
        // Never the last copies: the keeper has others. No program is executed anymore that would inherit what dup2 makes.
        for socket in sockets.values.map(\.socket) + departing.map(\.socket) { dup2(null.number, socket.number) }
        (sockets, departing) = ([:], [])
        send(.init(message: message(WD_CLOSER_END, 0, 0), socket: nil))
    }

    // MARK: - Sockets

    /// Has a copy of a socket kept, into which strangers can pass descriptors.
    ///
    /// - Parameters:
    ///   - socket: kept until ``release(_:)``.
    ///   - owner: the user whose messages come through it: the sockets of one user share a limit.
    public func keep(_ socket: OwnedDescriptor, for owner: UInt32) -> Ticket {
        lastID += 1
        sockets[lastID] = Kept(socket: socket, owner: owner)
        send(.init(message: message(WD_CLOSER_KEEP, lastID, owner), socket: socket))
        return Ticket(id: lastID)
    }

    /// Has the next message removed and everything that came with it closed.
    ///
    /// Until then, the socket must be neither read nor looked at, but see ``regain(_:)``. If earlier descriptors of the same
    /// owner cannot be closed, that may take forever.
    ///
    /// - Parameter end: called later, when the message is out.
    public func take(_ ticket: Ticket, then end: @escaping () -> Void) {
        guard sockets[ticket.id] != nil else { return }
        sockets[ticket.id]?.taken = end
        askToTake(ticket.id)
    }

    private func askToTake(_ id: UInt64) {
        guard let owner = sockets[id]?.owner else { return }
        sockets[id]?.isDeclined = false
        send(.init(message: message(WD_CLOSER_TAKE, id, owner), socket: nil))
    }

    /// Waits until no message of a socket is being removed, for at most a tenth of a second.
    ///
    /// The message was removed then, and the end of ``take(_:then:)`` was called; or it stays in the socket, and is not
    /// removed until this thread returns to its loop.
    ///
    /// - Returns: false if the message may still be removed at any time.
    public func regain(_ ticket: Ticket) -> Bool {
        let end = Instant.now() + Self.patience
        while let kept = sockets[ticket.id], kept.taken != nil, !kept.isDeclined {
            guard let keeper else { return false }
            var entry = pollfd(fd: keeper.number, events: Int16(POLLIN), revents: 0)
            let left = (end - .now()).nanoseconds
            guard left > 0, poll(&entry, 1, Int32(clamping: left / 1_000_000 + 1)) == 1 else { return false }
            receive()
        }
        return true
    }

    /// Gives up a socket: its last copy is closed in a process that can be lost.
    ///
    /// The closer's reference may be the last one only once everybody else has released theirs.
    public func release(_ ticket: Ticket) {
        guard let kept = sockets.removeValue(forKey: ticket.id) else { return }
        departing.append((ticket.id, kept.owner, kept.socket))
        wake(after: .zero)
    }

    /// The number of sockets that are kept or not given up yet.
    var count: Int { sockets.count + departing.count + requests.count }

    // MARK: - Requests

    private func message(_ kind: wd_closer_kind, _ id: UInt64, _ owner: UInt32) -> wd_closer_message {
        wd_closer_message(kind: kind.rawValue, owner: owner, id: id)
    }

    private func send(_ request: Request) {
        requests.append(request)
        sendRequests()
    }

    private func sendRequests() {
        guard let keeper else { return }
        var sent = 0
        for request in requests {
            var number = request.socket?.number ?? -1
            let result = withUnsafeBytes(of: request.message) {
                wd_socket_send_with(keeper.number, $0.baseAddress, $0.count, &number, request.socket == nil ? 0 : 1)
            }
            guard result == 0 else { break }
            sent += 1
        }
        requests.removeFirst(sent)
        if !requests.isEmpty { wake(after: Self.pause) }
    }

    private func releaseDeparting() {
        // Without a copy elsewhere, closing one here would be the last close.
        guard keeper != nil else { return }
        var rest: [(id: UInt64, owner: UInt32, socket: OwnedDescriptor)] = []
        var ids: [(id: UInt64, owner: UInt32)] = []
        while var last = departing.popLast() {
            if isKnownUniquelyReferenced(&last.socket) {
                // Nothing can be sent into it from here on.
                shutdown(last.socket.number, Int32(SHUT_RD))
                ids.append((last.id, last.owner))
            } else {
                rest.append(last)
            }
        }
        departing = rest
        // Their copies here are closed by now.
        for (id, owner) in ids { send(.init(message: message(WD_CLOSER_RELEASE, id, owner), socket: nil)) }
        if !rest.isEmpty { wake(after: Self.pause) }
    }

    private func tryAgain() {
        if keeper == nil { try? startKeeper() }
        sendRequests()
        releaseDeparting()
        for (id, kept) in sockets where kept.isDeclined { askToTake(id) }
    }

    private func wake(after pause: Duration) {
        let instant = loop.now + pause
        if let due = timer?.due, due <= instant { return }
        timer?.arm(at: instant)
    }

    // MARK: - The keeper

    private func startKeeper() throws(LinuxError) {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pair of sockets") { wd_socket_pair(&ends) }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        var number = theirs.number
        guard wd_socket_send_with(source.link.number, [1], 1, &number, 1) == 0 else {
            let error = LinuxError("create the process that closes what strangers pass", .current)
            if !isHopeless { onProblem(error) }
            isHopeless = true
            throw error
        }
        answers = try loop.onReadable(ours) { [unowned self] in receive() }
        keeper = ours
        requests.removeAll { $0.message.kind != WD_CLOSER_RELEASE.rawValue }
        let again =
            sockets.map { id, kept in
                Request(message: message(WD_CLOSER_KEEP, id, kept.owner), socket: kept.socket)
            }
            + departing.map { id, owner, socket in
                Request(message: message(WD_CLOSER_KEEP, id, owner), socket: socket)
            }
        requests.insert(contentsOf: again, at: 0)
        sendRequests()
        // Whether their messages are out is unknown: a socket that is read again shows it. Nobody removes them anymore:
        // processes that were to do that had the other end of the lost connection, which is closed.
        for (id, kept) in sockets where kept.taken != nil { taken(id) }
    }

    private func taken(_ id: UInt64) {
        let end = sockets[id]?.taken
        sockets[id]?.taken = nil
        sockets[id]?.isDeclined = false
        end?()
    }

    private func declined(_ id: UInt64) {
        guard sockets[id]?.taken != nil else { return }
        sockets[id]?.isDeclined = true
        wake(after: Self.declinedPause)
    }

    private func receive() {
        guard let keeper else { return }
        var answer = wd_closer_message()
        while true {
            switch wd_closer_answer(keeper.number, &answer) {
            case 1 where answer.kind == WD_CLOSER_TAKEN.rawValue: taken(answer.id)
            case 1: declined(answer.id)
            case 0: return
            default: return lose()
            }
        }
    }

    private func lose() {
        answers?.cancel()
        (answers, keeper) = (nil, nil)
        wake(after: Self.pause)
    }
}
