// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import WatchdogBase
import WatchdogWire

/// The channel to the supervisor: queued messages, and replies to its requests.
///
/// Isolation: any thread may send; ``service(at:)`` belongs to the watched loop. Nothing here blocks, waits or reads a
/// clock: the loop calls ``service(at:)`` when ``descriptor`` is readable or ``deadline`` has come.
final class Session: Sendable {
    /// Retry interval for unsent messages.
    private static let retryInterval = DispatchTimeInterval.milliseconds(100)
    /// The maximum number of datagrams per call, so that a flood of them cannot starve the app's own work.
    private static let readLimit = 64

    /// A request from the supervisor, or the end of the connection.
    enum Incoming: Hashable, Sendable {
        case terminate
        case disconnected
        case transition(SupervisorMessage.Transition)
        case backgroundTime(Duration)
        case expire
        case event(SupervisorMessage.Event)
        /// Block the main loop for this long, for a test.
        case hang(Duration)

        /// Everything in a message but pings.
        ///
        /// They are ordered so that the app knows how long it may run in the background before it enters it.
        static func all(in message: SupervisorMessage) -> [Incoming] {
            var events: [Incoming] = []
            if let time = message.backgroundTime { events.append(.backgroundTime(time)) }
            if let transition = message.transition { events.append(.transition(transition)) }
            if message.isExpiring { events.append(.expire) }
            if let event = message.event { events.append(.event(event)) }
            if let hang = message.hang { events.append(.hang(hang)) }
            if message.isTerminating { events.append(.terminate) }
            return events
        }
    }

    private struct State {
        var transport: Configuration.Transport
        /// Queued messages; a later message of a kind replaces an earlier one.
        var outbox = ClientMessage()
        /// Rate limit, so that a flood of messages cannot crowd out replies to pings.
        var chatter = TokenBucket(capacity: 20, perSecond: 10)
        /// Rate limit for tasks and signposts, which are more frequent; many of them fit into one datagram.
        var marks = TokenBucket(capacity: 100, perSecond: 50)
        var retry: DispatchTime?
        var push: DispatchTime?
        var isLossUnreported = false
        let allowsFaults: Bool
    }

    private let state: Locked<State>

    /// Sends the greeting, `outbox` and, for an app that pushes signs of life, the first one.
    ///
    /// - Parameters:
    ///   - configuration: The supervisor to connect to.
    ///   - outbox: Messages queued before the connection.
    ///   - hasLifecycle: True if the app handles and acknowledges states, expirations and events.
    ///   - now: The time.
    init(
        _ configuration: Configuration,
        outbox: ClientMessage = ClientMessage(),
        hasLifecycle: Bool = false,
        at now: DispatchTime
    ) {
        var state = State(
            transport: configuration.transport, outbox: outbox, allowsFaults: configuration.allowsFaults)
        switch configuration.transport {
        case .channel:
            state.outbox.hello = .init(
                process: getpid(),
                library: "Watchdog/\(Wire.version)",
                hasLifecycle: hasLifecycle,
                allowsFaults: configuration.allowsFaults
            )
        case .notify(_, _, let interval):
            state.push = interval.map { _ in now }
        case .none:
            break
        }
        Self.flush(&state, at: now)
        self.state = Locked(state)
    }

    /// False without a supervisor, or after it has exited.
    var isSupervised: Bool {
        state.withLock { state in
            if case .none = state.transport { return false }
            return true
        }
    }

    /// The descriptor to poll for messages; nil if none can arrive.
    var descriptor: Descriptor? {
        state.withLock { state in
            guard case .channel(let descriptor) = state.transport else { return nil }
            return descriptor
        }
    }

    /// The time at which ``service(at:)`` must be called even if no message has arrived; nil for never.
    var deadline: DispatchTime? {
        state.withLock { state in
            [state.push, state.retry].compactMap(\.self).min()
        }
    }

    /// Sends what `change` puts into a message, now if possible.
    ///
    /// - Returns: True if there is a new ``deadline`` that the loop does not know.
    func send(at now: DispatchTime, _ change: (inout ClientMessage) -> Void) -> Bool {
        state.withLock { state in
            let wasWaiting = state.retry != nil
            change(&state.outbox)
            Self.flush(&state, at: now)
            return state.retry != nil && !wasWaiting
        }
    }

    /// Reads and answers messages, pushes a sign of life if one is due, and retries unsent messages.
    ///
    /// - Returns: The messages for the app, in the order of arrival.
    func service(at now: DispatchTime) -> [Incoming] {
        state.withLock { state in
            var events: [Incoming] = []
            Self.receive(&state, &events, at: now)
            Self.push(&state, at: now)
            if let retry = state.retry, retry <= now {
                Self.flush(&state, at: now)
            }
            if state.isLossUnreported {
                state.isLossUnreported = false
                events.append(.disconnected)
            }
            return events
        }
    }
}

// MARK: - Receiving

extension Session {
    private static func receive(_ state: inout State, _ events: inout [Incoming], at now: DispatchTime) {
        for _ in 0..<readLimit {
            guard case .channel(let descriptor) = state.transport else { return }
            switch nextMessage(from: descriptor) {
            case .success(let message?):
                take(message, &state, &events, at: now)
                // Messages behind the hang are answered after it, as in a real hang.
                if message.hang != nil, state.allowsFaults { return }
            case .success(nil): return
            case .failure: disconnect(&state)
            }
        }
    }

    private static func take(
        _ message: SupervisorMessage,
        _ state: inout State,
        _ events: inout [Incoming],
        at now: DispatchTime
    ) {
        if let nonce = message.ping {
            state.outbox.pong = nonce
            state.outbox.thread = CurrentThread.numberUnlessFirst
            flush(&state, at: now)
        }
        var message = message
        if !state.allowsFaults { message.hang = nil }
        events += Incoming.all(in: message)
    }

    private struct SupervisorGone: Error {}

    /// The next datagram; nil if the socket is empty.
    private static func nextMessage(from descriptor: Descriptor) -> Result<SupervisorMessage?, SupervisorGone> {
        // One byte more than the limit, so that the decoder can detect an overlong datagram.
        withUnsafeTemporaryAllocation(byteCount: Wire.Limit.datagram + 1, alignment: 1) { buffer in
            while true {
                let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                switch (count, errno) {
                case (1..., _): return .success(SupervisorMessage(decoding: buffer[..<count]))
                case (-1, EINTR): continue
                case (-1, EAGAIN): return .success(nil)
                default: return .failure(SupervisorGone())
                }
            }
        }
    }
}

// MARK: - Sending

extension Session {
    private static func push(_ state: inout State, at now: DispatchTime) {
        guard let due = state.push, due <= now,
            case .notify(let socket, let address, let interval?) = state.transport
        else { return }
        var sign = NotifyMessage()
        sign.watchdog = .alive
        switch send(sign.datagram, through: socket, to: address) {
        case .full:
            state.push = now + retryInterval
        case .failed:
            state.push = now + interval
        case .sent:
            state.push = now + interval
            flush(&state, at: now)
        }
    }

    /// Sends the outbox, or keeps it and sets the time of the next attempt.
    private static func flush(_ state: inout State, at now: DispatchTime) {
        if case .none = state.transport {
            state.outbox = ClientMessage()
        }
        guard state.outbox != ClientMessage() else { return }
        guard mayTalk(&state, at: now) else {
            state.retry = state.retry ?? now + retryInterval
            return
        }
        state.retry = nil
        switch state.transport {
        case .channel(let channel):
            while state.outbox != ClientMessage() {
                let (datagram, remainder) = state.outbox.encoded
                switch send(datagram, through: channel, to: nil) {
                case .sent: state.outbox = remainder
                case .full:
                    state.retry = now + retryInterval
                    return
                case .failed:
                    disconnect(&state)
                    return
                }
            }
        case .notify(let socket, let address, _):
            state.outbox.removeMarks()
            switch send(NotifyMessage(state.outbox).datagram, through: socket, to: address) {
            case .sent: state.outbox = ClientMessage()
            case .full: state.retry = now + retryInterval
            // A restarted supervisor may bind the address again; the outbox goes out with the next message or sign of
            // life.
            case .failed: break
            }
        case .none:
            break
        }
    }

    /// False while the rate limit is exhausted.
    private static func mayTalk(_ state: inout State, at now: DispatchTime) -> Bool {
        guard !state.outbox.isUrgent else { return true }
        // Delayed messages go out together at the retry time, including those queued since.
        if let retry = state.retry { return retry <= now }
        let instant = Instant(nanoseconds: Int64(clamping: now.uptimeNanoseconds))
        return state.outbox.hasWords ? state.chatter.admit(at: instant) : state.marks.admit(at: instant)
    }

    private static func disconnect(_ state: inout State) {
        state.transport = .none
        state.outbox = ClientMessage()
        state.retry = nil
        state.isLossUnreported = true
    }

    private enum Outcome {
        case sent
        /// The receiver's queue is full.
        case full
        /// The receiver is gone; a notify socket may come back.
        case failed
    }

    private static func send(_ datagram: [UInt8], through socket: Descriptor, to address: NotifyAddress?) -> Outcome {
        // On a SOCK_SEQPACKET socket, the receiver cannot tell an empty datagram from the end of the connection.
        guard !datagram.isEmpty else { return .sent }
        let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
        while true {
            let count = datagram.withUnsafeBytes { bytes in
                guard let address else { return Glibc.send(socket.number, bytes.baseAddress, bytes.count, flags) }
                return address.withPointer { sendto(socket.number, bytes.baseAddress, bytes.count, flags, $0, $1) }
            }
            guard count < 0 else { return .sent }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS, ENOMEM: return .full
            default: return .failed
            }
        }
    }
}

extension ClientMessage {
    /// Whether the message bypasses the rate limit.
    fileprivate var isUrgent: Bool {
        hello != nil || isReady || pong != nil || isStopping || stateDone != nil || eventDone != nil || isFirstFrame
            || isUseful
    }

    /// Whether it contains a text, of which only the latest value matters.
    fileprivate var hasWords: Bool {
        status != nil || summary != nil || timeoutExtension != nil || progress != nil
    }
}

extension NotifyMessage {
    /// The part that sd_notify can express.
    fileprivate init(_ message: ClientMessage) {
        self.init()
        isReady = message.isReady
        isStopping = message.isStopping
        status = message.status
        timeoutExtension = message.timeoutExtension
        progress = message.progress
    }
}
