// SPDX-License-Identifier: Apache-2.0

package import WatchdogWire

// MARK: - Launch

extension Application {
    /// Says that the app has shown itself for the first time, which ends what is measured as its launch.
    ///
    /// Later calls do nothing. It is also counted while the launch callbacks run.
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
    /// Heeds everything in a message but pings, as if it had come over the channel.
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
        if event.id > lastEvent {
            lastEvent = event.id
            delegate.application(self, handle: Event(event))
        }
        let id = lastEvent
        surroundings.say { $0.eventDone = id }
    }
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
    /// The supervisor's request to end and SIGTERM do the same. A second call does nothing. Before the launch is over, the app just
    /// ends, and the state it was given is there again for the next launch.
    public func terminate() {
        guard !isEnding else { return }
        isEnding = true
        backgroundTasks.close()
        surroundings.say { $0.isStopping = true }
        if isLaunched {
            saveState()
            delegate.applicationWillTerminate(self)
        } else {
            // There is nothing to save yet, and what is there from before is not to blame.
            surroundings.store?.keepAfterLaunch()
        }
        surroundings.end()
    }

    private func saveState() {
        surroundings.store?.save(delegate.applicationWillEncodeRestorableState(self))
    }
}
