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
    private var notifyIntake = Intake()
    private var channelIntake = Intake()
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

    /// How one of both is read.
    private struct Intake {
        /// The socket is watched by one of both: at once, or later, together with those of other apps.
        ///
        /// The second is nil until it is needed: few apps are patient, and none before it has been launched.
        var prompt: SharedSource.Member?
        var patient: SharedSource.Member?
        /// For the socket, if the closer keeps it.
        var ticket: Closer.Ticket?
        /// The first message is handled and being removed: it has descriptors.
        var isTaking = false

        /// What is readable already is served by the one that watches from now on.
        func watch(_ isOpen: Bool, isPatient: Bool) {
            let isHeldBack = !isOpen || isTaking
            prompt?.pause(isHeldBack || isPatient)
            patient?.pause(isHeldBack || !isPatient)
        }

        mutating func cancel() { (prompt, patient) = (nil, nil) }
    }

    deinit {
        for ticket in [notifyIntake.ticket, channelIntake.ticket].compactMap(\.self) { host.closer?.release(ticket) }
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
        notifyIntake.ticket = host.closer?.keep(notifySocket.descriptor, for: owner)
        guard let channel, !channel.refusesDescriptors else { return }
        channelIntake.ticket = host.closer?.keep(channel.descriptor, for: owner)
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
        notifyIntake.prompt = try watchNotifySocket(in: sources.prompt)
        watchNotifySocket()
        guard let channel else { return }
        channelIntake.prompt = try host.system.watch(channel.descriptor, in: sources.prompt, pace: Self.channelPace) {
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
        notifyIntake.cancel()
        channelIntake.cancel()
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
        if isPatient, notifyIntake.patient == nil {
            guard notifyIntake.prompt != nil else { return }
            notifyIntake.patient = try? watchNotifySocket(in: host.sharedSources.messages)
            // Without room for it, the messages go on to be read at once.
            guard notifyIntake.patient != nil else { return }
        }
        self.isPatient = isPatient
        watchNotifySocket()
    }

    private func watchNotifySocket() { notifyIntake.watch(isProcessKnown, isPatient: isPatient) }

    private func watchChannel() { channelIntake.watch(isProcessKnown, isPatient: false) }

    /// Reads the messages that the main process sent before its end.
    func readLastMessages() {
        let isOurs = notifyIntake.ticket.map { host.closer?.regain($0) ?? true } ?? true
        if !notifyIntake.isTaking {
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
        for _ in 0..<count where !notifyIntake.isTaking {
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
            takeMessage(of: \.notifyIntake)
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

    /// Has a message with descriptors removed, which answers a `BARRIER=1` in the notify socket; a channel has some before
    /// Linux 6.16.
    private func takeMessage(of intake: ReferenceWritableKeyPath<LaunchSockets, Intake>) {
        setTaking(true, intake)
        guard let closer = host.closer, let ticket = self[keyPath: intake].ticket else { return }
        closer.take(ticket) { [weak self] in self?.setTaking(false, intake) }
    }

    private func setTaking(_ isTaking: Bool, _ intake: ReferenceWritableKeyPath<LaunchSockets, Intake>) {
        self[keyPath: intake].isTaking = isTaking
        watchNotifySocket()
        watchChannel()
    }

    private func readChannel(atMost count: Int) {
        guard isProcessKnown else { return }
        for _ in 0..<count where !channelIntake.isTaking {
            let reception = try? channel?.heed { message in
                current = message
                emit(.channelMessage(message.bytes))
                current = nil
            }
            switch reception {
            case .message(let message):
                if message.hasDescriptors { takeMessage(of: \.channelIntake) }
            case .closed:
                // The app closed its end, or is about to exit; its pings then go unanswered.
                channelIntake.cancel()
                channelIntake.prompt = nil
                channel = nil
                return
            case .nothing, nil:
                return
            }
        }
    }
}
