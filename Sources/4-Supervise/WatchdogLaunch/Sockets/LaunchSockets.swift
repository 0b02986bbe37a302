// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogWire

/// The two connections between one app and its supervisor: the notify socket and the channel.
///
/// Isolation: the loop's thread.
final class LaunchSockets {
    /// Messages read at a deadline, so that a flood does not starve everything else.
    private static let burst = 32
    /// Messages of the channel read per turn of the loop.
    private static let channelBurst = 6
    /// How often a channel is read: 6,000 messages a second.
    ///
    /// The steps of a launch follow each other closely, and the moment when each is read counts.
    private static let channelPace = TokenBucket(capacity: 100, perSecond: 1_000)
    /// Messages read after the main process has ended; another process of the app may fill the sockets faster than they
    /// are read.
    private static let lastWords = 512
    /// More users of one app are not remembered.
    private static let mostUsers = 16

    private let host: Host
    /// Senders that are gone and cannot be identified are believed if they had one of these users: root, watchdogd's,
    /// the app's, and those of the app's processes that have been heard.
    private var users: [UInt32]
    /// Nil while it cannot be known who belongs to the app.
    private let senders: () -> SenderJudge?
    /// The present user of the main process, which may have changed it.
    private let mainUser: () -> UInt32?
    private let emit: (LaunchEvent) -> Void
    private let notifySocket: NotifySocket
    /// Nil once the app has closed its end.
    private var channel: Channel?
    /// The app's end of the channel, until the app has it.
    private(set) var appEnd: OwnedDescriptor?
    /// Whether the launch's process is known; neither socket is read before.
    ///
    /// A program may speak before the loop knows of its process. Nobody can tell then who belongs to the app, and the
    /// machine drops what comes before a launch.
    private var isProcessKnown = false
    /// The channel's message that is being handled.
    @Boxed private(set) var current: SocketMessage?
    /// Whose messages the closer removes.
    private let owner: UInt32
    /// Tickets for the sockets that the closer keeps.
    private var keeping: (notify: Closer.Ticket?, channel: Closer.Ticket?)
    /// The first message of the socket is handled and being removed: it has descriptors.
    private var isTaking = (notify: false, channel: false)
    /// The notify socket is watched by one of both: at once, or later, together with those of other apps.
    ///
    /// The second is nil until it is needed: few apps are patient, and none before it has been launched.
    private var promptSource: SharedSource.Member?
    private var patientSource: SharedSource.Member?
    private var patience = MessagePatience()
    /// Whether the messages wait for those of other apps.
    private(set) var isPatient = false
    /// Whether the machine expects more than signs of life.
    var isExpecting = true {
        didSet { updateExpectation() }
    }
    /// Whether somebody waits for the app to reload.
    var isReloading = false {
        didSet { updateExpectation() }
    }
    private var channelSource: SharedSource.Member?

    deinit {
        for ticket in [keeping.notify, keeping.channel].compactMap(\.self) { host.closer?.release(ticket) }
    }

    /// Creates both for a new launch.
    init(
        _ host: Host, _ launch: LaunchConfiguration, senders: @escaping () -> SenderJudge?,
        mainUser: @escaping () -> UInt32?, emit: @escaping (LaunchEvent) -> Void
    ) throws(LinuxError) {
        self.host = host
        self.senders = senders
        self.mainUser = mainUser
        self.emit = emit
        users = Self.users(host, launch)
        notifySocket = try host.system.bindNotifySocket(Self.name(launch), in: host.runtimeDirectory)
        let pair = try host.system.socketPair()
        (channel, appEnd) = (pair.supervisor, pair.app)
        notifySocket.keepsAddress = host.survival != nil
        owner = launch.credentials?.user ?? host.userID
    }

    /// Takes over what remains of an earlier launch and creates the rest; the notify socket keeps its address.
    init(
        _ host: Host, resuming launch: LaunchConfiguration, _ descriptors: InheritedDescriptors, notifyAddress: String,
        senders: @escaping () -> SenderJudge?, mainUser: @escaping () -> UInt32?,
        emit: @escaping (LaunchEvent) -> Void
    ) throws(LinuxError) {
        self.host = host
        self.senders = senders
        self.mainUser = mainUser
        self.emit = emit
        users = Self.users(host, launch)
        if let inherited = descriptors.notifySocket,
            let socket = NotifySocket(inherited.descriptor, boundTo: notifyAddress)
        {
            notifySocket = socket
        } else if NotifySocket.canHave(notifyAddress, in: host.runtimeDirectory, name: Self.name(launch)) {
            notifySocket = try host.system.bindNotifySocket(at: notifyAddress)
        } else {
            // The process was not launched by watchdogd, or it has changed its environment.
            notifySocket = try host.system.bindNotifySocket(Self.name(launch), in: host.runtimeDirectory)
        }
        notifySocket.keepsAddress = true
        channel = descriptors.channel.map { Channel($0) }
        owner = launch.credentials?.user ?? host.userID
        keep()
    }

    /// From now on, neither the end of the launch nor that of watchdogd closes what waits in the sockets.
    ///
    /// Call it as soon as the launch is requested: its process cannot have sent anything yet.
    func keep() {
        keeping.notify = host.closer?.keep(notifySocket.descriptor, for: owner)
        guard let channel, !channel.refusesDescriptors else { return }
        keeping.channel = host.closer?.keep(channel.descriptor, for: owner)
    }

    private static func users(_ host: Host, _ launch: LaunchConfiguration) -> [UInt32] {
        Array(Set([0, host.userID, launch.credentials?.user].compactMap(\.self)))
    }

    private static func name(_ launch: LaunchConfiguration) -> String { "notify-\(launch.launchID)" }

    /// The value of the app's `NOTIFY_SOCKET`.
    var notifyAddress: String { notifySocket.address }

    /// The descriptors that the next watchdogd needs to talk to the app.
    var kept: [OwnedDescriptor] { [notifySocket.descriptor, channel?.descriptor].compactMap(\.self) }

    /// Their numbers, for a process that re-executes itself.
    var keptNumbers: (channel: Int32?, notify: Int32) {
        (channel?.descriptor.number, notifySocket.descriptor.number)
    }

    /// Connects both to the loop.
    func start() throws(LinuxError) {
        // Read one message per turn: the source fires again while there are more, and a read that finds nothing costs
        // as much as one that succeeds.
        let sources = host.sharedSources
        promptSource = try watchNotifySocket(in: sources.prompt)
        watchNotifySocket()
        guard let channel else { return }
        channelSource = try host.system.watch(channel.descriptor, in: sources.prompt, pace: Self.channelPace) {
            [unowned self] in readChannel(atMost: Self.channelBurst)
        }
        watchChannel()
    }

    private func watchNotifySocket(in source: SharedSource) throws(LinuxError) -> SharedSource.Member {
        try host.system.watch(notifySocket.descriptor, in: source, pace: nil) { [unowned self] in
            readNotifySocket(atMost: 1)
        }
    }

    /// Stops reading, and removes the notify socket's path.
    func stop() {
        appEnd = nil
        promptSource = nil
        patientSource = nil
        channelSource?.cancel()
        notifySocket.keepsAddress = false
    }

    /// Closes watchdogd's copy of the app's end, which the app now has, and begins to read both sockets.
    ///
    /// Call it once the launch's process is known.
    func closeAppEnd() {
        appEnd = nil
        isProcessKnown = true
        watchNotifySocket()
        watchChannel()
    }

    /// Returns false if the app does not read or has closed its end: it loses messages, and its pings go unanswered.
    @discardableResult
    func send(_ datagram: [UInt8]) -> Bool { (try? channel?.send(datagram)) == .sent }

    /// Reads the messages that are waiting in both for the loop's next turn.
    func readMessages() {
        readNotifySocket(atMost: Self.burst)
        readChannel(atMost: Self.burst)
    }

    private func updateExpectation() {
        let now = Instant.now()
        patience.expect(isExpecting || isReloading, at: now)
        setPatient(patience.canWait(at: now))
    }

    private func noteMessage(isRoutine: Bool) {
        let now = Instant.now()
        patience.read(isRoutine: isRoutine, at: now)
        setPatient(patience.canWait(at: now))
    }

    private func setPatient(_ isPatient: Bool) {
        guard isPatient != self.isPatient else { return }
        if isPatient, patientSource == nil {
            guard promptSource != nil else { return }
            patientSource = try? watchNotifySocket(in: host.sharedSources.messages)
            // Without room for it, the messages go on to be read at once.
            guard patientSource != nil else { return }
        }
        self.isPatient = isPatient
        watchNotifySocket()
    }

    /// What is readable already is served by the one that watches from now on.
    private func watchNotifySocket() {
        let isHeldBack = !isProcessKnown || isTaking.notify
        promptSource?.pause(isHeldBack || isPatient)
        patientSource?.pause(isHeldBack || !isPatient)
    }

    private func watchChannel() { channelSource?.pause(!isProcessKnown || isTaking.channel) }

    /// Reads the messages that the main process sent before its end.
    func hearLastWords() {
        let isOurs = keeping.notify.map { host.closer?.regain($0) ?? true } ?? true
        if !isTaking.notify {
            readNotifySocket(atMost: Self.lastWords, looksBehind: true)
        } else if isOurs, let senders = senders() {
            lookBehindFirst(senders)
        }
        readChannel(atMost: Self.lastWords)
    }

    /// Hears what follows a message that is not removed yet.
    ///
    /// It would come too late otherwise; heard twice, it changes nothing.
    private func lookBehindFirst(_ senders: SenderJudge) {
        notifySocket.lookBehindFirst(atMost: Self.lastWords) { handle($0, senders.standing(ofSender: $0)) }
    }

    // A message stays in its socket until all its effects are executed and saved. If watchdogd is killed in between,
    // the next one reads it again; a repeated message changes nothing.

    private func readNotifySocket(atMost count: Int, looksBehind: Bool = false) {
        guard isProcessKnown, let senders = senders() else { return }
        for _ in 0..<count where !isTaking.notify {
            var isKnown = false
            let message = try? notifySocket.heed {
                isKnown = senders.knows(senderOf: $0)
                return isKnown
            } _: {
                handle($0, isKnown ? .member : senders.standing(ofSender: $0))
            }
            guard let message else { return }
            guard message.hasDescriptors else { continue }
            // Not while it is being removed.
            if looksBehind { lookBehindFirst(senders) }
            takeNotifyMessage()
        }
    }

    private func handle(_ message: SocketMessage, _ standing: SenderStanding) {
        guard isBelieved(message, standing) else {
            noteMessage(isRoutine: true)
            return emit(.messageRefused(sender: message.senderProcess, user: message.senderUser))
        }
        noteMessage(isRoutine: !message.hasDescriptors && NotifyMessage.isRoutine(message.bytes))
        emit(.notifyMessage(message.bytes, age: message.age, isAttributed: standing == .member))
    }

    /// Whether a message counts: from the app's processes, whatever their users are, and from those that are gone
    /// without a trace if they had a user of the app.
    private func isBelieved(_ message: SocketMessage, _ standing: SenderStanding) -> Bool {
        switch standing {
        case .member:
            if users.count < Self.mostUsers, !users.contains(message.senderUser) { users.append(message.senderUser) }
            return true
        case .unknown: return users.contains(message.senderUser) || mainUser() == message.senderUser
        case .stranger: return false
        }
    }

    /// Has a message with descriptors removed, which answers `BARRIER=1`.
    private func takeNotifyMessage() {
        isTaking.notify = true
        watchNotifySocket()
        guard let closer = host.closer, let ticket = keeping.notify else { return }
        closer.take(ticket) { [weak self] in
            guard let self else { return }
            isTaking.notify = false
            watchNotifySocket()
        }
    }

    private func readChannel(atMost count: Int) {
        guard isProcessKnown else { return }
        for _ in 0..<count where !isTaking.channel {
            let reception = try? channel?.heed { message in
                current = message
                emit(.channelMessage(message.bytes))
                current = nil
            }
            switch reception {
            case .message(let message):
                if message.hasDescriptors { takeChannelMessage() }
            case .closed:
                // The app closed its end, or is about to exit; its pings then go unanswered.
                channelSource?.cancel()
                channelSource = nil
                channel = nil
                return
            case .nothing, nil:
                return
            }
        }
    }

    /// The same for the channel, before Linux 6.16.
    private func takeChannelMessage() {
        isTaking.channel = true
        watchChannel()
        guard let closer = host.closer, let ticket = keeping.channel else { return }
        closer.take(ticket) { [weak self] in
            guard let self else { return }
            isTaking.channel = false
            watchChannel()
        }
    }
}
