// SPDX-License-Identifier: Apache-2.0

package import WatchdogWire

// MARK: - Launch

extension Application {
    /// Reports that the app has drawn its first frame, which ends the measured launch.
    ///
    /// Later calls do nothing. A call during the launch callbacks counts, too.
    public func firstFrame() {
        guard !hasShownFrame else { return }
        hasShownFrame = true
        surroundings.say { $0.isFirstFrame = true }
    }

    package func launch(_ options: LaunchOptions) {
        state = options.isInBackground ? .background : .inactive
        backgroundTasks.setForeground(!options.isInBackground)
        let saved = surroundings.store?.takeForLaunch()
        delegate.application(self, willFinishLaunchingWith: options)
        if let saved { delegate.application(self, didDecodeRestorableState: saved) }
        delegate.application(self, didFinishLaunchingWith: options)
        if !options.isInBackground {
            state = .active
            delegate.applicationDidBecomeActive(self)
        }
        if saved != nil { surroundings.store?.keepAfterLaunch() }
        isLaunched = true
        extendedLaunch.isLaunched = true
        surroundings.say { $0.isReady = true }
        let incoming = waiting
        waiting = []
        for incoming in incoming { receive(incoming) }
    }
}

// MARK: - What the supervisor says

extension Application {
    /// Handles everything in a message but pings, as if it had arrived on the channel.
    package func receive(_ message: SupervisorMessage) {
        for incoming in Session.Incoming.all(in: message) { receive(incoming) }
    }

    func receive(_ incoming: Session.Incoming) {
        guard isLaunched else {
            waiting.append(incoming)
            return
        }
        guard !isEnding else { return }
        switch incoming {
        case .transition(let transition): heed(transition)
        case .backgroundTime(let time): backgroundTasks.setTime(time)
        case .expire: backgroundTasks.expire()
        case .event(let event): heed(event)
        case .terminate: terminate()
        case .disconnected: backgroundTasks.forgetTime()
        // The loop that called service(at:) has already blocked.
        case .hang: break
        }
    }

    private func heed(_ transition: SupervisorMessage.Transition) {
        if transition.id > lastTransition {
            lastTransition = transition.id
            switch (transition.visibility, state) {
            case (.foreground, .background): enterForeground()
            case (.background, .active), (.background, .inactive): enterBackground()
            case (.foreground, _), (.background, .background): break
            }
        }
        let id = lastTransition
        surroundings.say { $0.stateDone = id }
    }

    private func heed(_ event: SupervisorMessage.Event) {
        let isNew = event.id > lastEvent
        isEventLost = false
        if isNew {
            lastEvent = event.id
            delegate.application(self, handle: Event(event))
        }
        let (id, isLost) = (lastEvent, isEventLost)
        surroundings.say { message in
            if isLost { message.eventsLost.append(id) }
            message.eventDone = id
        }
    }

    /// Reports, while ``ApplicationDelegate/application(_:handle:)`` runs, that nothing listens for the event: it is lost.
    ///
    /// Whoever waits for the event learns of it, and so does everyone who asks for the app's status. A delegate that
    /// handles no events at all loses each of them. Does nothing at any other time.
    public func loseEvent() { isEventLost = true }
}

// MARK: - States

extension Application {
    private func enterForeground() {
        delegate.applicationWillEnterForeground(self)
        backgroundTasks.setForeground(true)
        state = .active
        delegate.applicationDidBecomeActive(self)
    }

    private func enterBackground() {
        delegate.applicationWillResignActive(self)
        state = .background
        backgroundTasks.setForeground(false)
        delegate.applicationDidEnterBackground(self)
        saveState()
    }

    /// Ends the app: saves its state, tells the delegate, and exits with code 0.
    ///
    /// The supervisor's request to exit and SIGTERM do the same. A second call does nothing. Before the launch is
    /// complete, the app exits immediately, and the next launch gets the same state again.
    public func terminate() {
        guard !isEnding else { return }
        isEnding = true
        backgroundTasks.close()
        surroundings.say { $0.isStopping = true }
        if isLaunched {
            saveState()
            delegate.applicationWillTerminate(self)
        } else {
            // There is nothing to save yet, and the state of the previous launch is not to blame.
            surroundings.store?.keepAfterLaunch()
        }
        surroundings.end()
    }

    private func saveState() {
        surroundings.store?.save(delegate.applicationWillEncodeRestorableState(self))
    }
}
